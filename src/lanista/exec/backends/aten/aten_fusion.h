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

struct AtenFusion {
  enum FusionKind {
    kReadsFirstOutput,   ///< the second reads what the first makes, and else what the first reads: all values are made
    kReplacesLastInput,  ///< the second's last input is what the first makes first, and nobody else's: that value is
                         ///< not made; or either of two that it adds
    kReplacesFirstInput,  ///< the same of the second's first input
    kReadsSameInput,      ///< the second reads what is the first's second input, alone: both values are made
    kManyToOne,  ///< all that the last reads is made by others of one kind, for nobody else, and not made any more;
                 ///< what a part reads may be a product, and a transposition may be the end
  };
  FusionKind kind;
  /// Calls in their order. What runs takes the inputs of the first, and of kReplacesLastInput and kReplacesFirstInput
  /// those of the second that are left; of kManyToOne the inputs of each part's first call. It returns the values that
  /// are made, in order.
  std::function<AtenRun(std::span<const AtenCall> calls)> prepare;
  /// Which two are meant, if not any of these names.
  bool (*of)(const graph::Types& types, const graph::Node& first, const graph::Node& second) = nullptr;
};
/// By the names of two operators.
using AtenFusions = std::map<std::pair<std::string, std::string>, AtenFusion>;

/// What is made as one where there are kernels for it; they outlive it.
AtenFusions aten_fusions(const LaneKernels* kernels, Precision precision);
void add_lane_elementwise_fusions(AtenFusions& fusions, const LaneKernels& kernels);
void add_lane_linear_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& products);
void add_lane_move_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& products);
void add_lane_norm_fusions(AtenFusions& fusions, const LaneKernels& kernels);

/// Nodes that are made as one.
struct FusedNodes {
  const AtenFusion* fusion;
  std::vector<graph::NodeId> nodes;  ///< in the order of AtenFusion::prepare
  std::vector<graph::Port> inputs, outputs;
};
/// By the node in whose place they are made: all that they read is there by then. No node is in two of them.
std::map<graph::NodeId, FusedNodes> find_fusions(const graph::Graph& graph, const graph::Types& types,
                                                 const std::vector<graph::NodeId>& order,
                                                 const std::set<graph::Port>& keep, const AtenFusions& fusions);

}  // namespace lanista::device
