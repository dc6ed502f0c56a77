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

// Fusions: several calls of a section run as one, so that values between them are not written and read again.
namespace lanista::device {

/// Fusion of two or more calls of a section into one call.
struct AtenFusion {
  /// Pattern of the fused calls.
  enum FusionKind {
    kReadsFirstOutput,    ///< the second reads what the first makes, and else what the first reads: all values are made
    kReplacesLastInput,   ///< the second's last input is what the first makes first, and nobody else's: that value is
                          ///< not made; or either of two that it adds
    kReplacesFirstInput,  ///< the same of the second's first input
    kReadsSameInput,      ///< the second reads what is the first's second input, alone: both values are made
    kManyToOne,  ///< all that the last reads is made by others of one kind, for nobody else, and not made any more;
                 ///< what a part reads may be a product, and a transposition may be the end
  };
  FusionKind kind;  ///< pattern of the calls
  /// Calls in their order. What runs takes the inputs of the first, and of kReplacesLastInput and kReplacesFirstInput
  /// those of the second that are left; of kManyToOne the inputs of each part's first call. It returns the values that
  /// are made, in order.
  std::function<AtenRun(std::span<const AtenCall> calls)> prepare;
  /// Condition on the two nodes; null means that any two nodes with these operators match.
  bool (*of)(const graph::Types& types, const graph::Node& first, const graph::Node& second) = nullptr;
};
/// Fusions by the names of the two operators.
using AtenFusions = std::map<std::pair<std::string, std::string>, AtenFusion>;

/// All fusions that `kernels` supports; none if it is null. `kernels` must outlive the result.
AtenFusions aten_fusions(const LaneKernels* kernels, Precision precision);
/// Adds fusions of element-wise operators and losses.
void add_lane_elementwise_fusions(AtenFusions& fusions, const LaneKernels& kernels);
/// Adds fusions of linear layers.
void add_lane_linear_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& products);
/// Adds fusions of data movement.
void add_lane_move_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& products);
/// Adds fusions of normalisations.
void add_lane_norm_fusions(AtenFusions& fusions, const LaneKernels& kernels);

/// Nodes of a graph that run as one call.
struct FusedNodes {
  const AtenFusion* fusion;                  ///< fusion that runs them
  std::vector<graph::NodeId> nodes;          ///< in the order of AtenFusion::prepare
  std::vector<graph::Port> inputs, outputs;  ///< values that the call reads and returns
};

/// Finds all fusions in `graph`. The key is the node at which the fused call runs; all its inputs exist there.
///
/// No node is part of two fusions. `keep` are values that must be stored.
std::map<graph::NodeId, FusedNodes> find_fusions(const graph::Graph& graph, const graph::Types& types,
                                                 const std::vector<graph::NodeId>& order,
                                                 const std::set<graph::Port>& keep, const AtenFusions& fusions);

}  // namespace lanista::device
