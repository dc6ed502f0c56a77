#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"

// Calls of a section that are made as one, so that values between them need not be written and read again.
namespace lanista::device {

struct AtenJoin {
  enum Kind {
    kAfter,    ///< the second reads what the first makes, and else what the first reads: all values are made
    kInstead,  ///< the second's last input is what the first makes first, and nobody else's: that value is not made;
               ///< or either of two that it adds
    kFirst,    ///< the same of the second's first input
    kBeside,   ///< the second reads what is the first's second input, alone: both values are made
    kParts,  ///< all that the last reads is made by others of one kind, for nobody else, and not made any more; what a
             ///< part reads may be a product, and a transposition may be the end
  };
  Kind kind;
  /// Calls in their order. What runs takes the inputs of the first, and of kInstead and kFirst those of the second that
  /// are left; of kParts the inputs of each part's first call. It returns the values that are made, in order.
  std::function<AtenRun(std::span<const AtenCall> calls)> prepare;
  /// Which two are meant, if not any of these names.
  bool (*of)(const graph::Types& types, const graph::Node& first, const graph::Node& second) = nullptr;
};
/// By the names of two operators.
using AtenJoins = std::map<std::pair<std::string, std::string>, AtenJoin>;

/// What is made as one where there are kernels for it; they outlive it.
AtenJoins aten_joins(const LaneKernels* kernels, Precision precision);
void join_lane_elementwise(AtenJoins& joins, const LaneKernels& kernels);
void join_lane_linear(AtenJoins& joins, const LaneKernels& kernels, const Products& products);
void join_lane_moves(AtenJoins& joins, const LaneKernels& kernels, const Products& products);
void join_lane_norms(AtenJoins& joins, const LaneKernels& kernels);

/// Nodes that are made as one.
struct AtenJoined {
  const AtenJoin* join;
  std::vector<graph::NodeId> nodes;  ///< in the order of AtenJoin::prepare
  std::vector<graph::Port> inputs, outputs;
};
/// By the node in whose place they are made: all that they read is there by then. No node is in two of them.
std::map<graph::NodeId, AtenJoined> joined_nodes(const graph::Graph& graph, const graph::Types& types,
                                                 const std::vector<graph::NodeId>& order,
                                                 const std::set<graph::Port>& keep, const AtenJoins& joins);

}  // namespace lanista::device
