#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "lanista/graph/graph.h"

namespace lanista::step {

/// Where every planned value lies in one arena. Offsets are multiples of 64 bytes.
struct MemoryPlan {
  std::map<graph::Port, std::int64_t> offset;  ///< bytes
  std::int64_t bytes = 0;                      ///< of the arena: its peak
  std::int64_t unshared_bytes = 0;             ///< what it would take without re-use
};

/// Inputs of a node whose place its first output may take, in order of preference.
using Overwrites = std::function<std::vector<std::size_t>(graph::NodeId)>;

/// Plans memory for the values that `order` produces: a value lives from its producer to its last use; values in
/// `keep` live to the end. `size` gives bytes of a port (0: not planned). Greedy by size with best fit; O(n² ) in
/// values. Two values that live at the same time never overlap, except that an output takes the place of an input of
/// its size which `overwrites` offers and nobody reads later.
MemoryPlan plan_memory(const graph::Graph& graph, const std::vector<graph::NodeId>& order,
                       const std::vector<graph::Port>& keep, const std::function<std::int64_t(graph::Port)>& size,
                       const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs,
                       const Overwrites& overwrites = {});

}  // namespace lanista::step
