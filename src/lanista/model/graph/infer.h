#pragma once

#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// The types of all outputs of the nodes of a graph.
class Types {
 public:
  Types() = default;
  /// Makes an empty entry for each node of the graph, so that `set` moves no other entry.
  explicit Types(const Graph& graph);
  /// The type of one value. A port that has no type is a bug of the caller.
  const ValueType& at(Port port) const;
  /// The types of all outputs of a node. A node without types is a bug of the caller.
  const std::vector<ValueType>& outputs(NodeId id) const;
  /// The types of the values that a node reads, in order of its inputs.
  std::vector<ValueType> inputs(const Node& node) const;
  /// Sets the types of all outputs of a node.
  void set(NodeId id, std::vector<ValueType> types);

 private:
  struct Entry {
    NodeId id;
    std::vector<ValueType> outputs;
  };
  std::vector<Entry> entries_;  // sorted by id
};

/// Checks every invariant of a model.
///
/// A model has known operators with valid attributes and input counts, ports that exist, and no cycle. It has one
/// `input` and one `output`, every node is on a path from input to output, and all shapes fit.
/// Errors: kInvalidArgument, kNotFound. The message names node, operator and shapes.
Result<void> verify(const Graph& graph, const OpTable& ops);

/// Returns the types of all values of a model or a step graph.
///
/// It accepts operators of any level. It needs no `input`, no `output` and no path between them. Other errors are as
/// in `verify`.
Result<Types> infer_shapes(const Graph& graph, const OpTable& ops);

/// Returns the graph hash: equal for two graphs if and only if they are the same model.
///
/// Node ids, labels, attributes written at their default and the order of commutative inputs do not count. Operators,
/// attributes and connections count. A layer that is used twice and two equal layers give different hashes.
/// O((n + edges) log n) unless branches are alike. Limit: hundreds of alike, interleaved branches may get a hash that
/// depends on their ids; different models still have different hashes. A graph with a cycle is a bug of the caller.
Digest canonical_hash(const Graph& graph, const OpTable& ops);

/// A parameter or buffer of a node, with its name in checkpoints.
struct NamedParam {
  NodeId node;       ///< the node that has it
  std::string name;  ///< "n<node id>.<parameter>", such as "n3.weight"
  ParamSpec spec;    ///< shape and initial values
};
/// Returns all parameters and buffers of a graph, in dependency order of their nodes. Errors as in `infer_shapes`.
Result<std::vector<NamedParam>> parameters(const Graph& graph, const OpTable& ops);

/// Totals of a model.
struct ModelCost {
  Cost forward;                 ///< forward pass of one sample, in inference form
  std::int64_t parameters = 0;  ///< elements of trained parameters
};
/// Adds up the cost of all nodes of a graph. Errors as in `infer_shapes`.
Result<ModelCost> model_cost(const Graph& graph, const OpTable& ops);

}  // namespace lanista::graph
