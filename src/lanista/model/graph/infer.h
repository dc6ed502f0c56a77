#pragma once

#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// Types of every output of every node.
class Types {
 public:
  Types() = default;
  /// With room for the nodes of the graph, whose types are then set in any order at no cost.
  explicit Types(const Graph& graph);
  const ValueType& at(Port port) const;
  const std::vector<ValueType>& outputs(NodeId id) const;
  std::vector<ValueType> inputs(const Node& node) const;
  void set(NodeId id, std::vector<ValueType> types);

 private:
  struct Entry {
    NodeId id;
    std::vector<ValueType> outputs;
  };
  std::vector<Entry> entries_;  // sorted by id
};

/// Checks every invariant of a model: known operators, attributes, arity, ports that exist, no cycle, one `input` and
/// one `output`, every node on a path from the input to the output, shapes that fit.
/// Errors: kInvalidArgument, kNotFound; the message names node, operator and shapes.
Result<void> verify(const Graph& graph, const OpTable& ops);

/// Shapes and element kinds of all values, of models and of step graphs: it asks for no input, no output and no path
/// between them, and takes operators of any level. Errors as in verify, for what it meets.
Result<Types> infer_shapes(const Graph& graph, const OpTable& ops);

/// The same for graphs that differ only in ids, in labels, in attributes that are written although they equal the
/// default, or in the order of inputs of commutative operators; Merkle hash from the input to the output. Different in
/// operator, attributes or wiring, also in what is shared and what stands twice: different hash. A graph with a cycle
/// is a bug. O((n + edges) log n) unless branches look alike. (Hundreds of alike branches that are tangled below one
/// another may get different hashes for different ids; different graphs never share one.)
Digest canonical_hash(const Graph& graph, const OpTable& ops);

/// A parameter of a node, with the name it has in checkpoints: "<node id>.<parameter>", e.g. "n3.weight".
struct NamedParam {
  NodeId node;
  std::string name;
  ParamSpec spec;
};
/// All parameters and buffers, in dependency order of their nodes.
Result<std::vector<NamedParam>> parameters(const Graph& graph, const OpTable& ops);

/// Totals of a model: forward FLOPs and bytes per sample, trained parameters.
struct ModelCost {
  Cost forward;
  std::int64_t parameters = 0;
};
Result<ModelCost> model_cost(const Graph& graph, const OpTable& ops);

}  // namespace lanista::graph
