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

/// A rule that replaces two or more calls of a section by one call.
struct AtenFusion {
  /// How the calls depend on each other.
  enum FusionKind {
    /// The second call reads the result of the first. Its other inputs are inputs of the first. All values are stored.
    kReadsFirstOutput,
    /// The last input of the second call, or either of two inputs that it adds, is the first result of the first call.
    /// No other call reads that value, and it is not stored.
    kReplacesLastInput,
    /// As kReplacesLastInput, for the first input of the second call.
    kReplacesFirstInput,
    /// The second call reads only the second input of the first call. Both results are stored.
    kReadsSameInput,
    /// All inputs of the last call are results of calls of one kind that no other call reads. They are not stored. A
    /// part may read a product, and the last call may be followed by a transposition.
    kManyToOne,
  };
  FusionKind kind;  ///< how the calls depend on each other
  /// Prepares the fused call from its calls, in order. The AtenRun returns the stored values, in order.
  ///
  /// Its inputs are those of the first call, then the remaining ones of the second (kReplacesLastInput and
  /// kReplacesFirstInput). For kManyToOne, they are the inputs of the first call of each part.
  std::function<AtenRun(std::span<const AtenCall> calls)> prepare;
  /// Returns true if the two nodes match; null means that any two nodes with these operators match.
  bool (*of)(const graph::Types& types, const graph::Node& first, const graph::Node& second) = nullptr;
};
/// Fusions by the names of the first and the second operator.
using AtenFusions = std::map<std::pair<std::string, std::string>, AtenFusion>;

/// Returns all fusions that `kernels` supports; none if it is null. If `precision` rounds operands (tf32, bf16), those
/// with products are left out. `kernels` must outlive the result.
AtenFusions aten_fusions(const LaneKernels* kernels, Precision precision);
/// Adds fusions of cross-entropy with its gradient, and of an embedding with a positional embedding. Each fused call
/// runs one kernel of `kernels`, which must outlive the fusions.
void add_lane_elementwise_fusions(AtenFusions& fusions, const LaneKernels& kernels);
/// Adds fusions of linear layers and matrix products.
void add_lane_linear_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& products);
/// Adds fusions of the gradients of slices and the products that compute them.
void add_lane_move_fusions(AtenFusions& fusions, const LaneKernels& kernels, const OperandRounding& products);
/// Adds fusions of normalisations, and of a softmax gradient with a scale.
void add_lane_norm_fusions(AtenFusions& fusions, const LaneKernels& kernels);

/// Nodes of a graph that run as one fused call.
struct FusedNodes {
  const AtenFusion* fusion;                  ///< rule of the call, owned by the table of fusions
  std::vector<graph::NodeId> nodes;          ///< in the order of AtenFusion::prepare
  std::vector<graph::Port> inputs, outputs;  ///< values that the call reads, and those that it returns
};

/// Returns all fused calls of `graph`, by the node in place of which the call runs. All its inputs exist then.
///
/// No node is part of two fusions. `order` is the order of the nodes. `keep` are values that must be stored. `fusions`
/// must outlive the result.
std::map<graph::NodeId, FusedNodes> find_fusions(const graph::Graph& graph, const graph::Types& types,
                                                 const std::vector<graph::NodeId>& order,
                                                 const std::set<graph::Port>& keep, const AtenFusions& fusions);

}  // namespace lanista::device
