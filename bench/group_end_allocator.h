#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::goodput {

/// Returns the devices of each job of a group that ends when its last job ends.
///
/// `seconds[job][devices - 1]` must not grow with the devices. The last end is as early as possible, with the fewest
/// devices that reach it. Empty if there are more jobs than devices. O(jobs log widest log (jobs x widest)), by
/// bisection over the times of all jobs.
std::vector<std::int32_t> group_end_counts(std::span<const std::vector<double>> seconds, std::int32_t total);

/// Returns the allocator for a group of trials that are judged together: the last of them ends as early as possible.
///
/// It predicts ends by goodput (group_end_counts), with the seconds of a restart for each job that changes. A job that
/// ends in time keeps devices that no other job needs. JobView::left should be known; otherwise the remaining work of a
/// job is taken to be as much as it has done. If there are more jobs than devices, the longest jobs get one each.
/// O(jobs x devices x log).
std::unique_ptr<Allocator> group_end_allocator();

}  // namespace lanista::goodput
