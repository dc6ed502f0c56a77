#pragma once

#include <optional>
#include <span>

#include "lanista/plan/elastic/cluster.h"

namespace lanista::schedule {

/// Returns true if a running trial should change from width `now` to `wanted` (Fluid, MLSys'21, algorithm 2).
///
/// It widens if it ends sooner even with the cost of the change. It narrows if its worker-seconds fall although it runs
/// longer. `left` is the part of its budget that remains, from 0 to 1.
bool resizes(const Prediction& trial, double left, const Width& now, const Width& wanted, const Cluster& cluster);

/// Returns the level T of water filling, at which the sum of clip(seconds / T, 1/c, d) is the number of workers.
///
/// Empty if the narrowest widths do not fit, that is for more than c n trials. The smallest T if the widest widths
/// leave workers idle. It is found by bisection.
std::optional<double> water_level(std::span<const double> seconds, const Cluster& cluster);

}  // namespace lanista::schedule
