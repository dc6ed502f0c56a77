#pragma once

#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// The types of all outputs of the nodes of a graph, by node id.
class Types {
 public:
  Types() = default;
  /// Reserves an empty entry for each node of the graph, so that later calls of set() do not move entries.
  explicit Types(const Graph& graph);
  /// The type of one value. A port that has no type is a bug of the caller. The reference lives until the next set().
  const ValueType& at(Port port) const;
  /// The types of all outputs of a node, by output number. Empty before set(). A node without an entry is a bug of the
  /// caller. The reference lives until the next set().
  const std::vector<ValueType>& outputs(NodeId id) const;
  /// The types of the values that a node reads, in order of its inputs.
  std::vector<ValueType> inputs(const Node& node) const;
  /// Sets the types of all outputs of a node, by output number. Adds an entry if the node has none.
  void set(NodeId id, std::vector<ValueType> types);

 private:
  struct Entry {
    NodeId id;
    std::vector<ValueType> outputs;
  };
  std::vector<Entry> entries_;  // sorted by id
};

/// Checks that a graph is a valid model.
///
/// A model has known operators of models with valid attributes and input counts, ports that exist, and no cycle. It has
/// one `input` and one `output`, every node is on a path from input to output, and all shapes fit. Its limits are
/// 100,000 nodes, 64 inputs a node, 4096 bytes a label, and 2^31 elements of a value for one sample. Errors: kNotFound
/// for an unknown operator; kInvalidArgument for everything else. The message names node, operator and shapes.
Result<void> verify(const Graph& graph, const OpTable& ops);

/// Infers and returns the types of all values of a model or a step graph.
///
/// Unlike `verify`, it accepts step operators, and it needs no `input`, no `output` and no path between them. Errors as
/// in `verify` (kNotFound, kInvalidArgument) for what it checks.
Result<Types> infer_shapes(const Graph& graph, const OpTable& ops);

/// Returns the graph hash of a model, which is equal for two graphs if and only if they are the same model.
///
/// Node ids, labels, attributes that are set to their defaults and the order of commutative inputs do not count.
/// Operators, attributes and connections count. A layer that is used twice and two equal layers give different hashes.
/// O((n + edges) log n) unless branches are alike. Limit: with hundreds of alike, interleaved branches, the hash may
/// depend on node ids; different models still have different hashes. A cycle is a bug of the caller.
Digest canonical_hash(const Graph& graph, const OpTable& ops);

/// A parameter or buffer of a node, with the name that checkpoints use.
struct NamedParam {
  NodeId node;       ///< node that reads it
  std::string name;  ///< "n<node id>.<parameter>", such as "n3.weight"
  ParamSpec spec;    ///< shape, initial values, and whether it is trained
};
/// Returns all parameters and buffers of a graph, in dependency order of their nodes. Errors as in `infer_shapes`
/// (kNotFound, kInvalidArgument).
Result<std::vector<NamedParam>> parameters(const Graph& graph, const OpTable& ops);

/// Total cost and size of a model.
struct ModelCost {
  Cost forward;                 ///< FLOPs and bytes of one sample's forward pass, in inference form
  std::int64_t parameters = 0;  ///< elements of all trained parameters, at most the largest 64-bit integer
};
/// Adds up the cost and the trained parameters of all nodes of a graph. Errors as in `infer_shapes` (kNotFound,
/// kInvalidArgument).
Result<ModelCost> model_cost(const Graph& graph, const OpTable& ops);

}  // namespace lanista::graph
