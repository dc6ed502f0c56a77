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

/// True: lanes with one batch compute a linear layer as one product (program::JointLinear), if a row of its output has
/// `row_bytes` and a vector register `vector_bytes`. A row of more than half a register is as fast in each lane alone.
constexpr bool is_joint_row(std::int64_t row_bytes, std::int64_t vector_bytes) { return 2 * row_bytes <= vector_bytes; }

}  // namespace lanista::autodiff
