#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::step {

/// Where every planned value lies in one arena. Offsets are multiples of 64 bytes.
struct MemoryPlan {
  std::map<graph::Port, std::int64_t> offset;  ///< bytes
  std::int64_t bytes = 0;                      ///< of the arena: its peak
  std::int64_t unshared_bytes = 0;             ///< what it would take without re-use
};

/// Inputs of a node that it reads element by element, no later than it writes that element of its first output; in
/// order of preference. Any other input it may read last of all.
using InPlace = std::function<std::vector<std::size_t>(graph::NodeId)>;

/// Plans memory for the values that `order` produces: a value lives from its producer to its last use; values in
/// `keep` live to the end. `size` gives bytes of a port (0: not planned). Greedy by size with best fit; O(n^2) in
/// values. Two values that live at the same time never overlap, except that a first output takes the place of an
/// input of its size that nobody reads later, if `in_place` has every input at which the node reads that value.
MemoryPlan plan_memory(const graph::Graph& graph, const std::vector<graph::NodeId>& order,
                       const std::vector<graph::Port>& keep, const std::function<std::int64_t(graph::Port)>& size,
                       const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs,
                       const InPlace& in_place = {});

}  // namespace lanista::step
