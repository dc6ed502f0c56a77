#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::step {

/// Builds a step graph node by node and infers the types of its values.
///
/// Operator rules return ports, not results. So the builder keeps the first error, and later calls have no effect.
class StepBuilder {
 public:
  explicit StepBuilder(const graph::OpTable& ops) : ops_(ops) {}

  /// Adds a node and returns its output 0. Attributes at their default are left out. `origin` is the node of the model
  /// for which it is added, if any.
  graph::Port emit(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs,
                   std::optional<graph::NodeId> origin);
  /// Keeps `error`, unless an earlier error is kept.
  void fail(Error error);
  /// The kept error, or success.
  Result<void> status() const;
  /// Whether an error is kept.
  bool failed() const { return error_.has_value(); }

  /// The table of model and step operators.
  const graph::OpTable& ops() const { return ops_; }
  /// The graph as built so far.
  const graph::Graph& graph() const { return builder_.peek(); }
  /// The types of all values built so far.
  const graph::Types& types() const { return types_; }
  /// The node of the model for each node of the step graph that has one.
  const std::map<graph::NodeId, graph::NodeId>& origin() const { return origin_; }

  /// Removes every node that is no source and on which no port of `roots` depends.
  void remove_dead(const std::vector<graph::Port>& roots);
  /// A finished step graph.
  struct BuiltStep {
    graph::Graph graph;                             ///< all nodes
    graph::Types types;                             ///< types of all values
    std::map<graph::NodeId, graph::NodeId> origin;  ///< step node to model node
  };
  /// Checks the whole graph with `graph::infer_shapes` and returns it. Errors: the kept one, or those of the check.
  Result<BuiltStep> finish() &&;

 private:
  const graph::OpTable& ops_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<graph::NodeId, graph::NodeId> origin_;
  std::optional<Error> error_;
};

}  // namespace lanista::step
