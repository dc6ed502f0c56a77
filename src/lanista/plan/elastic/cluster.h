#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"

// How long trials take at which width, and what there is to train them on: what schedulers of room `schedule` look at.
namespace lanista::schedule {

/// Equal workers (GPUs, or sets of cores).
struct Cluster {
  std::int64_t workers = 1;
  std::int64_t shares = 4;     ///< trials on one worker, at most: a power of two; 1/shares is the narrowest width
  std::int64_t widest = 4;     ///< workers of one trial, at most
  double memory = 1;           ///< of a worker, in the unit of Prediction::memory
  double reserve = 0;          ///< part of the memory that nobody plans with
  double interference = 0.02;  ///< what every further trial on a worker slows down all of them by

  double usable_memory() const { return memory * (1 - reserve); }
};

/// Errors: kOutOfRange, naming the field, its value and what is allowed.
Result<void> check_cluster(const Cluster& cluster);

/// What is known, or believed, of a trial: its whole budget, not a step of it. Seconds a step at width w are
/// work/w + overhead, and for w > 1 a ring all-reduce on top: 2(w-1) latency + 2(w-1)/w transfer.
struct Prediction {
  double steps = 1;
  double work = 0;      ///< seconds a step that workers share
  double overhead = 0;  ///< seconds a step that they do not
  double latency = 0;   ///< seconds a message
  double transfer = 0;  ///< seconds to send the gradients once
  double busy = 1;      ///< part of the time in which the worker is busy when the trial has it alone
  double memory = 0;    ///< on each of its workers
  double resize = 0;    ///< seconds that a change of workers costs, once the trial has begun
  /// By what part steps and resize may be off: they are what is so times something from 1 - error to 1 + error, each
  /// its own. 0: they are so. Less than 1.
  double error = 0;
  std::int64_t widest = 1'000'000;  ///< workers that it can have, at most; Cluster::widest holds as well
};

/// A trial of `seconds` at width 1 whose speed-up at width w is w / (1 + serial (w - 1)).
Prediction prediction_of(double seconds, double serial, double busy = 1, double memory = 0, double resize = 0);

/// Seconds of the whole budget on `width` workers of its own; width >= 1.
double seconds_at(const Prediction& trial, std::int64_t width);
/// The width of at most `widest`, and of what it can have, at which it ends first; the smallest of equals.
std::int64_t fastest_width(const Prediction& trial, std::int64_t widest);

/// How many times longer trials of a worker take than each of them alone, where `count` of them want `busy` of it
/// together.
double slowdown(double busy, std::int64_t count, const Cluster& cluster);

/// A width as in Fluid (Yu et al., MLSys'21): several whole workers, or one part of a worker that is cut in `parts`.
struct Width {
  std::int64_t workers = 1;
  std::int64_t parts = 1;  ///< a power of two; 1 if there are several workers
  double value() const { return static_cast<double>(workers) / static_cast<double>(parts); }
  bool operator==(const Width&) const = default;
};

/// Seconds at a width; on a part of a worker beside trials that are as busy as this one.
double seconds_at(const Prediction& trial, const Width& width, const Cluster& cluster);

}  // namespace lanista::schedule
