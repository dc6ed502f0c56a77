#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::autodiff {

/// Builds a step graph node by node and infers the types of its values.
///
/// Operator rules return ports, not results. So the builder keeps the first error. After an error, emit() and fail()
/// have no effect, and finish() returns the error.
class StepBuilder {
 public:
  explicit StepBuilder(const graph::OpTable& ops) : ops_(ops) {}

  /// Adds a node and returns its output 0. Attributes with their default value are left out. `origin` is the node of
  /// the model for which the node is added, if there is one. On an error (an unknown operator, types that do not fit)
  /// it keeps the error and returns Port{}, which callers must not use: check failed() or status().
  graph::Port emit(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs,
                   std::optional<graph::NodeId> origin);
  /// Keeps `error` as the error of the builder, unless there is one already.
  void fail(Error error);
  /// The kept error, or success if there is none.
  Result<void> status() const;
  /// True if there is a kept error.
  bool failed() const { return error_.has_value(); }

  /// The table of model and step operators, which must live as long as the builder.
  const graph::OpTable& ops() const { return ops_; }
  /// The graph as built so far. The reference shows later changes.
  const graph::Graph& graph() const { return builder_.peek(); }
  /// The types of all values built so far. The reference shows later changes.
  const graph::Types& types() const { return types_; }
  /// For each node of the step graph that was added for a model node: the id of the model node.
  const std::map<graph::NodeId, graph::NodeId>& origin() const { return origin_; }

  /// Removes every node that is no source and that contributes to no value in `roots`.
  void remove_dead(const std::vector<graph::Port>& roots);
  /// A finished and checked step graph.
  struct BuiltStep {
    graph::Graph graph;                             ///< all nodes of the step
    graph::Types types;                             ///< types of all values
    std::map<graph::NodeId, graph::NodeId> origin;  ///< from step node to the model node for which it was added
  };
  /// Checks the whole graph with `graph::infer_shapes` and returns it. Errors: the kept error, or as in
  /// `graph::infer_shapes` (kNotFound, kInvalidArgument).
  Result<BuiltStep> finish() &&;

 private:
  const graph::OpTable& ops_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<graph::NodeId, graph::NodeId> origin_;
  std::optional<Error> error_;
};

}  // namespace lanista::autodiff
