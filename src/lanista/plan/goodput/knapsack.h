#pragma once

#include <cstdint>
#include <span>
#include <vector>

// How many devices each job gets, exactly, if the value of a job depends on its own devices alone.
namespace lanista::goodput {

/// A number of devices for a job, and its value.
struct DeviceCount {
  std::int32_t devices = 0;  ///< Number of devices.
  double value = 0;          ///< Value of the job with them; larger is better.
};

/// The choices of many jobs. Jobs with equal choices share one list.
struct ChoiceLists {
  std::vector<DeviceCount> choices;    ///< All lists, one after another; each begins with zero devices.
  std::vector<std::size_t> ends;       ///< For each list: index in `choices` after its last entry.
  std::vector<std::uint32_t> list_of;  ///< For each job: index of its list, from 0.
  /// Returns the choices of list `i`, a part of `choices`.
  std::span<const DeviceCount> list(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(choices).subspan(begin, ends[i] - begin);
  }
};
/// Returns the number of devices of each job with the largest sum of values. All together use at most `total` devices.
///
/// Of equal solutions it returns the one that comes first in a fixed order. The dynamic programme runs only for jobs
/// that may get devices. A job is left out if its best gain per device is not above the gain of a first device of
/// `total` other jobs. O(jobs + lists + candidates x total x choices).
std::vector<std::int32_t> solve_large(const ChoiceLists& lists, std::int32_t total);

}  // namespace lanista::goodput
