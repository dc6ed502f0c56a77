#pragma once

#include <set>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// A model as two: head(prefix(x)) is what the model computes of x.
struct Cut {
  Graph prefix;     ///< from the model's input to the value that is handed on; equal for models that begin alike
  Graph head;       ///< from that value to the model's output; nodes have their ids, the input that of the value's node
  ValueType value;  ///< what is handed on
};

/// Cuts a model behind its frozen part: `frozen` are nodes that are not trained and run in inference form. The prefix
/// is as long as it can be without a trained parameter or a draw of a trial's own, so it may also hold nodes without
/// parameters that are not listed (none of the listed has to have any). State tensors of the head have the names they
/// have in the model, and so its fresh weights and its dropout masks are the model's.
/// Errors: verify's; kNotFound (a frozen node that the model lacks); kInvalidArgument (nothing is left to train);
/// kNotApplicable (the prefix would be the input alone); kUnimplemented (a frozen node behind a trained one, a frozen
/// part that hands on several values; they are named). O((n + edges) log n).
Result<Cut> cut_behind_frozen(const Graph& model, const std::set<NodeId>& frozen, const OpTable& ops);

}  // namespace lanista::graph
