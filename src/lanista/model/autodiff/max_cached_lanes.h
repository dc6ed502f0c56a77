#pragma once

#include <cstdint>

namespace lanista::step {

/// Default number of lanes of a worker. Eight lanes share batches and programs; with more, the last trial of a group
/// delays the others.
inline constexpr std::int64_t kDefaultLanes = 8;

/// The number of lanes that fit together into 1 MiB of a core's level-2 cache, from 1 to kDefaultLanes, where the state
/// of a lane has `state_bytes` bytes.
///
/// With more lanes, the weights of one lane evict those of another from the cache in each step.
std::int64_t max_cached_lanes(std::int64_t state_bytes);

}  // namespace lanista::step
