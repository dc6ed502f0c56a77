#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::program {

/// One call of a kernel: a node of the step graph after lowering.
struct KernelCall {
  graph::NodeId id;    ///< Id of the node in the step graph.
  std::string kernel;  ///< Name in the kernel table, e.g. "linear_relu".
  std::string op;      ///< Operator that defines `attrs`, e.g. "linear".
  graph::Attrs attrs;  ///< Attributes of that operator.
  /// Input values; a value without a call is replaced by the value that holds its bytes.
  std::vector<graph::Port> inputs;
  /// Types that the operator sees; the value in memory may have another shape.
  std::vector<graph::ValueType> in_types;
  std::vector<graph::ValueType> out_types;  ///< Types of the outputs.
};

/// A kernel that does the work of two calls with the same bits, if the value between them has no other use.
///
/// `second` reads output 0 of `first` at its input 0. Kernel entries name their fusion.
struct Fusion {
  std::string kernel = {};              ///< Name of the fused kernel; filled in from the table.
  std::string first = {}, second = {};  ///< Names of the two kernels that the fused kernel replaces.
  /// True: the fused call has the attributes and operator of `second`; false: those of `first`.
  bool takes_attrs_of_second = false;
  /// Names of two more kernels, or empty. If both are set, one call of `first_grad` may also read the value between the
  /// two calls, at its input 0. Its input 1 must be the output of a `second_grad` call which reads output 1 of `second`
  /// at its input 0, and must have no other use. Then the call of `first_grad` is removed.
  std::string first_grad = {}, second_grad = {};
};

/// The operators and fusions that lowering uses; both must live while it runs.
struct LoweringRules {
  const graph::OpTable& ops;           ///< Definitions of all step operators.
  const std::vector<Fusion>& fusions;  ///< Fusions to apply; the first match wins.
};

/// The calls of a section in order, and the values that share the bytes of another value.
struct LoweredGraph {
  std::vector<KernelCall> calls;               ///< Calls in order of execution.
  std::map<graph::Port, graph::Port> aliases;  ///< Values with the bytes of another value, without a call.

  /// The value that holds the bytes of `port`, through all aliases; `port` itself if it has none.
  graph::Port source(graph::Port port) const;
};

/// Lowers the nodes of `order`, in that order, to kernel calls with the same bits. Sources get no call. Views
/// (graph::OpDef::is_view) get none if their input has the same bytes; a view that changes the layout has a call. A
/// pair of calls becomes one where a fusion exists. `keep` are values that later code reads, which no fusion removes.
LoweredGraph lower(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
                   const std::set<graph::Port>& keep, const LoweringRules& rules);

}  // namespace lanista::program
