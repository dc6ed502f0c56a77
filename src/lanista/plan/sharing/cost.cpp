#include "lanista/plan/sharing/cost.h"

#include <algorithm>

namespace lanista::sharing {

double RooflineCost::op_us(std::span<const OperatorWork* const> lanes) const {
  double launches = 0;
  double host_us = 0;
  double flops = 0;
  double bytes = 0;
  for (const OperatorWork* work : lanes) {
    launches = std::max(launches, work->launches);
    host_us += work->host_us;
    flops += work->flops;
    bytes += work->other_bytes + work->in_bytes;
  }
  return host_us + launches * rates_.launch_us + std::max(flops / rates_.flops_per_us, bytes / rates_.bytes_per_us);
}

}  // namespace lanista::sharing
