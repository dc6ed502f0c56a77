#pragma once

#include <vector>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::goodput {

/// Returns true if this many devices always fit next to other packable counts.
///
/// True for 0, for powers of two up to a node's devices, and for whole nodes. A node must have a power of two of
/// devices.
bool is_packable(std::int32_t devices, const Nodes& nodes);

/// Returns an allocation for each job that gets `counts` packable devices, in the order of `counts`.
///
/// A job is on as few nodes as possible, and two jobs that span nodes are never on one node. A job with an unchanged
/// count keeps its devices if they are on as few nodes as possible, unless another job would not fit. The sum of the
/// counts must not exceed all devices. `current` has the present allocations. O(nodes x jobs) for every job that moves.
std::vector<Allocation> pack(std::span<const std::int32_t> counts, std::span<const Allocation> current,
                             const Nodes& nodes);

}  // namespace lanista::goodput
