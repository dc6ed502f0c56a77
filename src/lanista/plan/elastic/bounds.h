#pragma once

#include <span>

#include "lanista/plan/elastic/cluster.h"

// Lower bounds on the makespan of a group of trials. They hold for every schedule (Fluid; strip packing).
namespace lanista::plan {

/// Lower bounds on the makespan of trials, in seconds. Trials start from their beginning, and changes of width cost
/// nothing.
struct Bounds {
  double area = 0;     ///< All work, each trial at its most efficient width, spread evenly over the workers.
  double longest = 0;  ///< The longest trial at its fastest width.
  double memory = 0;   ///< Sum of memory times least seconds of each trial, over the usable memory of all workers.
  double dual = 0;     ///< Bound for schedules in which each trial keeps its width; at least area and longest.
  double elastic = 0;  ///< Bound for all schedules; at most dual.

  /// Returns the largest bound that holds for every schedule, in seconds: all except `dual`.
  double best() const;
};

/// Computes the bounds for trials on a cluster. They are zero for no trials.
///
/// `dual` is the smallest T such that all trials have widths that end them within T, and their worker-seconds fit into
/// workers x T. `elastic` is the same for trials that mix two widths without cost. A trial on one worker occupies the
/// part that it keeps busy if workers may be shared; on several workers it occupies all of them. By bisection with
/// about 100 steps of O(trials x widest^2).
Bounds bounds_of(std::span<const Prediction> trials, const Cluster& cluster);

}  // namespace lanista::plan
