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
  std::string op;      ///< the operator whose schema `attrs` follow, e.g. "linear"
  graph::Attrs attrs;
  std::vector<graph::Port> inputs;         ///< aliases resolved
  std::vector<graph::ValueType> in_types;  ///< as the operator sees them; an alias may have another shape
  std::vector<graph::ValueType> out_types;
};

/// A kernel that does the work of two, to the same bits, where the value between them has no other use: `second` reads
/// output 0 of `first` at its input 0. Kernel entries say so.
struct Fusion {
  std::string kernel = {};  ///< its name; filled in from the table
  std::string first = {}, second = {};
  bool takes_attrs_of_second = false;  ///< attributes and operator of the call are those of the second, else of the first
  /// With both, the value may also be read by `first_grad`, at its input 0, if what comes at input 1 is made by
  /// `second_grad` from output 1 of the second and goes nowhere else: that gradient then is done already.
  std::string first_grad = {}, second_grad = {};
};

/// What lowering asks about operators and kernels; both are read while it runs.
struct LoweringRules {
  const graph::OpTable& ops;
  const std::vector<Fusion>& fusions;
};

/// The calls of a section, in order, with what the peephole did to its values.
struct LoweredGraph {
  std::vector<KernelCall> calls;
  std::map<graph::Port, graph::Port> aliases;  ///< same bytes as another value: no call of its own

  /// The value that holds the bytes of `port`.
  graph::Port source(graph::Port port) const;
};

/// Turns nodes into calls: sources go, and what only renames bytes (graph::OpDef::renames); pairs become one call where
/// a fusion does their work. Same bits. `keep` are values that somebody reads later.
LoweredGraph lower(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
              const std::set<graph::Port>& keep, const LoweringRules& rules);

}  // namespace lanista::nn
