#pragma once

#include <cstdint>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// A measurement as losses, one a goal: smaller is better, a missing metric is NaN.
std::vector<double> losses(const std::vector<Goal>& goals, const Measurement& measurement);

/// How far the trial is from keeping to its constraints, by this measurement and its hyper-parameters; 0: it keeps
/// to them. A constraint on a hyper-parameter that the trial does not have is kept; without one of its metrics it is
/// broken without bound.
double violation(const std::vector<Constraint>& constraints, const Measurement& measurement,
                 const space::Sample& sample);

/// `Constraint::excess` of each constraint that is measured, in their order; minus infinity where the trial does not
/// have the hyper-parameter.
std::vector<double> excesses(const std::vector<Constraint>& constraints, const Measurement& measurement,
                             const space::Sample& sample);

/// Front of each point by fast non-dominated sorting (Deb et al., 2002): 0 for those nobody dominates, 1 for those that
/// only front 0 dominates, … Smaller is better in every coordinate. Empty points and points with a NaN form the last
/// front. O(n^2 m), for one goal O(n log n).
std::vector<std::int64_t> non_dominated_ranks(const std::vector<std::vector<double>>& points);
/// With constrained domination (Deb et al., 2002): what keeps to the constraints goes before what does not, and of the
/// latter the smaller violation (one a point) goes first. What has no usable numbers stays last.
std::vector<std::int64_t> non_dominated_ranks(const std::vector<std::vector<double>>& points,
                                              const std::vector<double>& violations);

/// How far a point's neighbours in its front are (Deb et al., 2002): per coordinate the gap between the next lower and
/// the next higher value over the front's span, summed; infinite for a front's ends. Ties by index; points with a NaN
/// 0.
std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points,
                                       const std::vector<std::int64_t>& ranks);

}  // namespace lanista::study
