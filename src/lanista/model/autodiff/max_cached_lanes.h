#pragma once

#include <cstdint>

namespace lanista::autodiff {

/// Default for the largest number of lanes of a worker. Eight lanes share batches and programs; with more, the last
/// trial of a lane group delays the others.
inline constexpr std::int64_t kDefaultLanes = 8;

/// The number of lanes with a joint state of at most 1 MiB (a part of a core's level-2 cache), from 1 to kDefaultLanes.
/// `state_bytes` is the size of the state of one lane.
///
/// With more lanes, the weights of one lane evict those of another from the cache in each step.
std::int64_t max_cached_lanes(std::int64_t state_bytes);

}  // namespace lanista::autodiff
