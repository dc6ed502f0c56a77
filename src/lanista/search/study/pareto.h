#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Returns one loss for each goal, in order: the metric of the measurement, negated for a goal to maximise. A missing
/// metric gives NaN.
std::vector<double> losses(const std::vector<Goal>& goals, const Measurement& measurement);

/// Returns the sum of the violations of the measured constraints; 0: all are satisfied. A constraint on a
/// hyper-parameter that the trial does not have is satisfied. A missing metric gives an infinite violation.
double violation(const std::vector<Constraint>& constraints, const Measurement& measurement,
                 const space::Sample& sample);

/// Returns Constraint::undefined_reason of each measured constraint that has one, with the text of the constraint.
std::vector<std::pair<std::string, std::string>> undefined_constraints(const std::vector<Constraint>& constraints,
                                                                       const Measurement& measurement,
                                                                       const space::Sample& sample);

/// Returns Constraint::excess of each measured constraint, in order; other constraints have no entry. It is minus
/// infinity for a constraint on a hyper-parameter that the trial does not have, and infinity for a missing metric.
std::vector<double> excesses(const std::vector<Constraint>& constraints, const Measurement& measurement,
                             const space::Sample& sample);

/// Returns the number of the front of each point, from 0 for the best, by fast non-dominated sorting (Deb et al.,
/// 2002). Smaller is better in every coordinate.
///
/// Front 0 are the points that no point dominates, front 1 those that only points of front 0 dominate, and so on. Empty
/// points and points with NaN form the last front; all others have equally many coordinates. O(n^2 m) for n points with
/// m goals; for one goal O(n log n).
std::vector<std::int64_t> non_dominated_ranks(const std::vector<std::vector<double>>& points);
/// Returns the number of the front of each point, from 0 for the best, by constrained domination (Deb et al., 2002).
/// `violations` has one number for each point. Points with violation 0 are before all others, which are ordered by
/// their violation alone: points with equal violations are in one front. Empty points and points with NaN are last.
std::vector<std::int64_t> non_dominated_ranks(const std::vector<std::vector<double>>& points,
                                              const std::vector<double>& violations);

/// Returns the crowding distance of each point in its front (Deb et al., 2002): the sum over coordinates of the gap
/// between its neighbours, divided by the range of the front. `ranks` has the front of each point. Ends of a front get
/// infinity, points with NaN get 0. Equal values are ordered by index.
std::vector<double> crowding_distances(const std::vector<std::vector<double>>& points,
                                       const std::vector<std::int64_t>& ranks);

}  // namespace lanista::study
