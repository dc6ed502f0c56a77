#pragma once

#include <functional>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::cluster {

/// How many nodes a job alone is worth (Pollux, section 5.3): it may have more while a device's part of its goodput is
/// above `upper` of what one device alone gives; then as many as bring that part nearest to `target`. `now` nodes stay
/// where it is not above.
std::int32_t nodes_for_job(const GoodputTable& job, std::int32_t devices_of_node, std::int32_t now, std::int32_t most,
                           double upper = 2.0 / 3, double target = 0.5);

/// The node count from `least` to `most` whose utility (sum of speed-ups over all devices, falling with nodes) is
/// nearest to the middle of low and high, by bisection; `now` if its utility is within both.
std::int32_t nodes_for_target_utility(const std::function<double(std::int32_t)>& utility, std::int32_t now,
                                      std::int32_t least, std::int32_t most, double low = 0.35, double high = 0.65);

}  // namespace lanista::cluster
