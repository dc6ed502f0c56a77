#pragma once

#include <vector>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::cluster {

/// Returns true if this many devices always fit next to other packable counts.
///
/// These are powers of two up to a node's devices, and whole nodes. A node must have a power of two of devices.
bool is_packable(std::int32_t devices, const Nodes& nodes);

/// Returns the devices of jobs that get `counts` packable devices.
///
/// A job is on as few nodes as possible, and two jobs that span nodes are never on one node. A job with an unchanged
/// count keeps its devices if they are such a place, unless another job would not fit. The sum of the counts must not
/// exceed all devices. O(nodes x jobs) for every job that moves.
std::vector<Allocation> pack(std::span<const std::int32_t> counts, std::span<const Allocation> current,
                             const Nodes& nodes);

}  // namespace lanista::cluster
