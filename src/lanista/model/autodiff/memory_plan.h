#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::autodiff {

/// The offset of every planned value of a step in one arena. Offsets are multiples of 64 bytes.
struct MemoryPlan {
  std::map<graph::Port, std::int64_t> offset;  ///< by value: bytes from the start of the arena
  std::int64_t bytes = 0;                      ///< size of the arena in bytes
  std::int64_t unshared_bytes = 0;             ///< bytes without any sharing: sum of all values, each rounded up to 64
};

/// Returns the input numbers of a node that output 0 may overwrite, in order of preference; empty if none.
///
/// The node must read each element of such an input before or while it writes the same element of output 0.
using InPlace = std::function<std::vector<std::size_t>(graph::NodeId)>;

/// Plans memory for the values that the nodes of `order` compute. `order` is the execution order.
///
/// A value lives from the node that computes it to the last node that reads it, or to the end if it is in `keep`.
/// `size` gives the bytes of a value (0: not planned), and `outputs` the values that a node computes. Values that live
/// at the same time do not overlap, with one exception. Output 0 shares the memory of the first input from `in_place`
/// that has an equal size (rounded up to 64) and that is not used later. `in_place` must list every input number at
/// which the node reads that input. Without `in_place` no input is overwritten. Values are placed by size, largest
/// first, each in the smallest gap that fits. O(n^2) in the number of values.
MemoryPlan plan_memory(const graph::Graph& graph, const std::vector<graph::NodeId>& order,
                       const std::vector<graph::Port>& keep, const std::function<std::int64_t(graph::Port)>& size,
                       const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs,
                       const InPlace& in_place = {});

}  // namespace lanista::autodiff
