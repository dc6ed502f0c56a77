#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lanista/base/result.h"

// How many devices each job gets, exactly, where what a job is worth depends on its own devices alone.
namespace lanista::cluster {

/// What a job is worth with so many devices.
struct DeviceCount {
  std::int32_t devices = 0;
  double value = 0;
};

/// Devices of each job, so that the sum of values is largest and that of devices at most `total`. `choices` of a job
/// need not begin with none; one that cannot be met makes all empty. The first of equals. O(jobs x total x choices).
std::vector<std::int32_t> solve_exactly(std::span<const std::vector<DeviceCount>> choices, std::int32_t total);
/// What jobs are worth, in lists of choices one behind the other, each of which begins with no devices. Jobs with the
/// same list share it.
struct ChoiceLists {
  std::vector<DeviceCount> choices;
  std::vector<std::size_t> ends;       ///< of each list among the choices
  std::vector<std::uint32_t> list_of;  ///< of each job
  std::span<const DeviceCount> list(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(choices).subspan(begin, ends[i] - begin);
  }
};
/// The same for a crowd: no more jobs than devices can get some, so the programme is run only for those that may be
/// among them. A job whose best gain per device is no more than what `total` others gain by their first device is not:
/// its devices would be as well with those of them that have none. O(jobs + lists + entrants x total x choices).
std::vector<std::int32_t> solve_large(const ChoiceLists& lists, std::int32_t total);
/// The same by one device after the other to whoever gains most, from none on: `value(job, devices)`. Exact where every
/// job's values are concave. O(total x log jobs).
std::vector<std::int32_t> greedy_counts(std::size_t jobs, std::int32_t total,
                                        const std::function<double(std::size_t, std::int32_t)>& value);

/// A choice of devices of one class.
struct ClassChoice {
  std::int32_t device_class = 0, devices = 0;
  double value = 0;
};
/// Sia's integer programme (Jayaram Subramanya et al., SOSP'23): for each job one of its choices or none, so that the
/// sum of values is largest and each class has devices enough; index of the choice, -1 for none. A dynamic programme
/// over what is left of all classes, O(jobs x choices x product of (class size + 1)). Errors: kResourceExhausted if
/// that product passes a million.
Result<std::vector<std::int32_t>> best_classes(std::span<const std::vector<ClassChoice>> choices,
                                               std::span<const std::int32_t> sizes);

/// Devices of each job of a group that ends when its last job does: seconds[job][devices - 1] must not grow with
/// devices. The largest of all is as small as possible, with as few devices as reach it. Empty if there are more jobs
/// than devices. O(jobs log widest log (jobs x widest)), by bisection over the times that occur.
std::vector<std::int32_t> group_end_counts(std::span<const std::vector<double>> seconds, std::int32_t total);

}  // namespace lanista::cluster
