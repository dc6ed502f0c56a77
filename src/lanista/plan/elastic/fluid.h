#pragma once

#include <optional>
#include <span>

#include "lanista/plan/elastic/cluster.h"

namespace lanista::plan {

/// Returns true if a running trial should change from width `now` to width `wanted` (Fluid, MLSys'21, algorithm 2).
///
/// It widens if it ends sooner even with the cost of the change. It narrows if its worker-seconds fall although it runs
/// longer. Equal widths give false. `left` is the part of its budget that remains, from 0 to 1.
bool resizes(const Prediction& trial, double left, const Width& now, const Width& wanted, const Cluster& cluster);

/// Returns the level T of water filling in seconds: the sum of clamp(seconds / T, 1/c, d) over n trials is the number
/// of workers.
///
/// c is Cluster::shares, and d is Cluster::widest. Empty if the narrowest widths do not fit, that is if n/c exceeds the
/// workers, or if a trial has 0 seconds. If workers stay idle although every trial has its
/// widest width, the largest T with these widths. 0 without trials. It is found by bisection.
std::optional<double> water_level(std::span<const double> seconds, const Cluster& cluster);

}  // namespace lanista::plan
