#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lanista/plan/goodput/knapsack.h"

namespace lanista::goodput {

/// Returns the number of devices of each job, in the order of `choices`, with the largest sum of values.
///
/// It is a reference for `solve_large`: one dynamic programme over all jobs, with a list for each. All together use at
/// most `total` devices. Of equal solutions it returns the same one as `solve_large`. Each list has a choice of zero
/// devices.
inline std::vector<std::int32_t> solve_exactly(const std::vector<std::vector<DeviceCount>>& choices,
                                               std::int32_t total) {
  const auto width = static_cast<std::size_t>(total) + 1;
  std::vector<double> best(width, 0);
  std::vector<std::vector<std::int32_t>> taken;
  for (const auto& list : choices) {
    std::vector<double> next(width, -std::numeric_limits<double>::infinity());
    auto& devices = taken.emplace_back(width, 0);
    for (const DeviceCount& choice : list) {
      const auto more = static_cast<std::size_t>(choice.devices);
      for (std::size_t used = more; used < width; ++used) {
        if (best[used - more] + choice.value <= next[used]) continue;
        next[used] = best[used - more] + choice.value;
        devices[used] = choice.devices;
      }
    }
    best = next;
  }
  std::vector<std::int32_t> counts(choices.size(), 0);
  std::size_t left = width - 1;
  for (std::size_t j = choices.size(); j-- > 0;) {
    counts[j] = taken[j][left];
    left -= static_cast<std::size_t>(counts[j]);
  }
  return counts;
}

}  // namespace lanista::goodput
