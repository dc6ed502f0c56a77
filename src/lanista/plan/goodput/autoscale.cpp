#include "lanista/plan/goodput/autoscale.h"

#include <cmath>

namespace lanista::cluster {

std::int32_t nodes_for_job(const GoodputTable& job, std::int32_t devices_of_node, std::int32_t now, std::int32_t most,
                           double upper, double target) {
  const double alone = job.at(1, 1);
  const auto part = [&](std::int32_t nodes) {
    const std::int64_t devices = std::int64_t{nodes} * devices_of_node;
    return job.at(nodes, devices) / (static_cast<double>(devices) * alone);
  };
  if (alone <= 0 || part(now) <= upper) return now;
  std::int32_t best = now;
  for (std::int32_t nodes = now + 1; nodes <= most; ++nodes) {
    if (std::fabs(part(nodes) - target) < std::fabs(part(best) - target)) best = nodes;
  }
  return best;
}

std::int32_t nodes_for_target_utility(const std::function<double(std::int32_t)>& utility, std::int32_t now,
                                      std::int32_t least, std::int32_t most, double low, double high) {
  const double here = utility(now), middle = (low + high) / 2;
  if (here >= low && here <= high) return now;
  while (least + 1 < most) {
    const std::int32_t between = (least + most) / 2;
    (utility(between) < middle ? most : least) = between;
  }
  return std::fabs(utility(least) - middle) <= std::fabs(utility(most) - middle) ? least : most;
}

}  // namespace lanista::cluster
