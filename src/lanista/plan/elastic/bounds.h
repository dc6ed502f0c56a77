#pragma once

#include <span>

#include "lanista/plan/elastic/cluster.h"

// How soon a group of trials can end at all: limits that no schedule passes, however clever (Fluid, strip packing).
namespace lanista::schedule {

/// Seconds. Trials are taken from their beginning and nothing is charged for changes of width.
struct Bounds {
  double area = 0;     ///< all work, each trial at its most frugal width, spread evenly
  double longest = 0;  ///< the trial that takes longest at its fastest width
  double memory = 0;   ///< all memory times the least time that it is held
  /// The smallest T at which every trial has a width that ends it within T and all that these widths occupy fits into
  /// workers x T. At least area and longest. Holds for schedules that keep a trial's width from beginning to end.
  double dual = 0;
  /// The same where a trial may change its width for nothing on its way, so that it mixes widths: what it occupies is
  /// convex in T. Holds for every schedule; at most dual.
  double elastic = 0;

  /// The largest that holds for every schedule.
  double best() const;
};

/// A trial occupies what it keeps busy of a worker that it may share, and all of its workers where it has several.
/// Takes O(trials x widest^2) for each of some hundred halvings. Zero for no trials.
Bounds bounds_of(std::span<const Prediction> trials, const Cluster& cluster);

}  // namespace lanista::schedule
