#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"

// Workers and predicted times of trials: the input of schedulers.
namespace lanista::plan {

/// Equal workers, such as GPUs or sets of cores.
struct Cluster {
  std::int64_t workers = 1;    ///< Number of workers.
  std::int64_t shares = 4;     ///< Most trials on one worker, a power of two; 1/shares is the narrowest width.
  std::int64_t widest = 4;     ///< Largest number of workers of one trial.
  double memory = 1;           ///< Memory of a worker, in the unit of Prediction::memory.
  double reserve = 0;          ///< Part of the memory that trials must leave free, from 0 to less than 1.
  double interference = 0.02;  ///< Slowdown of all trials on a worker by each further trial, as a part.

  /// Returns the memory of a worker without the reserve, in the unit of `memory`.
  double usable_memory() const { return memory * (1 - reserve); }
};

/// Checks the ranges of all fields: up to 10,000 workers, 64 shares, a widest trial of 1024 workers, and an
/// interference of 10. Errors: kOutOfRange with the field, its value and what is allowed.
Result<void> check_cluster(const Cluster& cluster);

/// The predicted or true times and memory of a trial, for its whole budget.
///
/// A step at width w needs work/w + overhead seconds. For w > 1 a ring all-reduce adds 2(w-1) latency + 2(w-1)/w
/// transfer.
struct Prediction {
  double steps = 1;                 ///< Number of steps of the whole budget.
  double work = 0;                  ///< Seconds of a step that workers divide.
  double overhead = 0;              ///< Seconds of a step that they do not divide.
  double latency = 0;               ///< Seconds of one message between two workers.
  double transfer = 0;              ///< Seconds to send all gradients once.
  double busy = 1;                  ///< Part of the time in which the trial, alone on a worker, keeps it busy.
  double memory = 0;                ///< Memory on each of its workers, in any unit; that of Cluster::memory.
  double resize = 0;                ///< Seconds without training that each change of workers costs after the start.
  double error = 0;                 ///< Relative error of steps and resize, each by its own factor; 0 to less than 1.
  std::int64_t widest = 1'000'000;  ///< Most workers of this trial; Cluster::widest is a limit as well.
};

/// Returns a trial that needs `seconds` seconds at width 1, and 1/w + (1 - 1/w) serial of that at width w. `serial` is
/// from 0 to 1.
Prediction prediction_of(double seconds, double serial, double busy = 1, double memory = 0, double resize = 0);

/// Returns the seconds of the whole budget on `width` whole workers that it has alone; width is at least 1.
double seconds_at(const Prediction& trial, std::int64_t width);
/// Returns the width from 1 to `widest` and to Prediction::widest with the least seconds; the smallest of equal ones.
std::int64_t fastest_width(const Prediction& trial, std::int64_t widest);

/// Returns the factor, at least 1, by which trials on a shared worker are slower than alone.
///
/// It is max(1, busy) (1 + Cluster::interference (count - 1)). `busy` is the sum of their Prediction::busy, the share
/// of a worker that each needs, and `count` is their number.
double slowdown(double busy, std::int64_t count, const Cluster& cluster);

/// A width as in Fluid (Yu et al., MLSys'21): several whole workers, or a part of one worker.
struct Width {
  std::int64_t workers = 1;  ///< Number of workers.
  std::int64_t parts = 1;    ///< The trial has 1/parts of its worker; a power of two, 1 for whole workers.
  /// Returns the width as a number of workers, such as 0.25 or 2.
  double value() const { return static_cast<double>(workers) / static_cast<double>(parts); }
  bool operator==(const Width&) const = default;
};

/// Returns the seconds of the whole budget at a width. On a part of a worker the other trials are as busy as this one.
double seconds_at(const Prediction& trial, const Width& width, const Cluster& cluster);

}  // namespace lanista::plan
