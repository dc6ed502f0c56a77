#pragma once

#include <set>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// A model cut into two graphs, with model(x) = head(prefix(x)).
struct Cut {
  Graph prefix;     ///< From the input of the model to one value. Equal for models with the same first nodes.
  Graph head;       ///< From that value to the output. Nodes keep their ids; its input has the id of the value's node.
  ValueType value;  ///< Type of the value between prefix and head.
};

/// Cuts a model after its frozen part. `frozen` has the nodes that are not trained and that run in inference form.
///
/// The prefix is the longest one that ends in one value of real numbers and in which every node with parameters,
/// buffers or random masks is in `frozen`. It may include other nodes that are not in `frozen`. State tensors of the
/// head keep their names, so initial weights and dropout masks are those of the whole model. O((n + edges) log n).
/// Errors: as in `verify` (kNotFound, kInvalidArgument) for an invalid model; kNotFound for a frozen node that the
/// model lacks; kInvalidArgument if nothing is left to train. It is kNotApplicable if the prefix would be the input
/// alone. It is kUnimplemented if a frozen node follows a trained one, or if no single value of real numbers separates
/// the frozen nodes from the head. The message names them.
Result<Cut> cut_behind_frozen(const Graph& model, const std::set<NodeId>& frozen, const OpTable& ops);

}  // namespace lanista::graph
