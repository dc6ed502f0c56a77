#pragma once

#include <vector>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::cluster {

/// Whether so many devices can always be packed beside others of the kind: a power of two up to a node's, or whole
/// nodes. Nodes have a power of two of devices.
bool is_packable(std::int32_t devices, const Nodes& nodes);

/// Where jobs go that get `counts` devices, each a count that packs: on as few nodes as possible, and no two that span
/// nodes on one. Who has that many already on such a place stays there, unless others would have no place then. The sum
/// of counts is at most all devices. O(nodes x jobs) for every job that must go aside.
std::vector<Allocation> pack(std::span<const std::int32_t> counts, std::span<const Allocation> current,
                             const Nodes& nodes);

}  // namespace lanista::cluster
