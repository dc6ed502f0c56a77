#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::nn {

/// One call of a kernel: a node of the step graph after lowering.
struct KernelCall {
  graph::NodeId id;
  std::string kernel;  ///< name in the kernel table, e.g. "linear_relu"
  std::string op;      ///< operator that defines `attrs`, e.g. "linear"
  graph::Attrs attrs;
  std::vector<graph::Port> inputs;         ///< with aliases resolved
  std::vector<graph::ValueType> in_types;  ///< types that the operator sees; an alias may have another shape
  std::vector<graph::ValueType> out_types;
};

/// A kernel that does the work of two calls with the same bits, if the value between them has no other use.
///
/// `second` reads output 0 of `first` at its input 0. Kernel entries name their fusion.
struct Fusion {
  std::string kernel = {};  ///< name of the fused kernel; filled in from the table
  std::string first = {}, second = {};
  bool takes_attrs_of_second = false;  ///< which attributes and operator the call has; false: those of `first`
  /// If both are set, `first_grad` may also read the value, at its input 0. Its input 1 must then be made by
  /// `second_grad` from output 1 of `second`, and have no other use. The call of `first_grad` is removed.
  std::string first_grad = {}, second_grad = {};
};

/// The operators and fusions that lowering uses; both must live while it runs.
struct LoweringRules {
  const graph::OpTable& ops;
  const std::vector<Fusion>& fusions;
};

/// The calls of a section in order, and the values that share the bytes of another.
struct LoweredGraph {
  std::vector<KernelCall> calls;
  std::map<graph::Port, graph::Port> aliases;  ///< values with the bytes of another value, without a call

  /// The value that holds the bytes of `port`.
  graph::Port source(graph::Port port) const;
};

/// Lowers nodes to kernel calls with the same bits. Sources and views (graph::OpDef::is_view) get no call. A pair of
/// calls becomes one where a fusion exists. `keep` are values that later code reads, which must exist.
LoweredGraph lower(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
                   const std::set<graph::Port>& keep, const LoweringRules& rules);

}  // namespace lanista::nn
