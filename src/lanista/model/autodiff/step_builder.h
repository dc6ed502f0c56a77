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

/// A step graph under construction: adds nodes one by one and knows the types of all values so far.
///
/// Rules of operators return ports, not results, so the first error is kept and later calls do nothing.
class StepBuilder {
 public:
  explicit StepBuilder(const graph::OpTable& ops) : ops_(ops) {}

  /// Output 0 of a new node; attributes equal to their defaults are left out. `origin`: the model node it serves.
  graph::Port emit(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs,
                   std::optional<graph::NodeId> origin);
  /// Notes the first error.
  void fail(Error error);
  Result<void> status() const;
  bool failed() const { return error_.has_value(); }

  const graph::OpTable& ops() const { return ops_; }
  const graph::Graph& graph() const { return builder_.peek(); }
  const graph::Types& types() const { return types_; }
  const std::map<graph::NodeId, graph::NodeId>& origin() const { return origin_; }

  /// Removes every node that is neither a source nor upstream of `roots`.
  void remove_dead(const std::vector<graph::Port>& roots);
  /// Ends construction. Errors: the kept one; or what graph::infer_shapes says, which checks the whole derivation.
  struct BuiltStep {
    graph::Graph graph;
    graph::Types types;
    std::map<graph::NodeId, graph::NodeId> origin;
  };
  Result<BuiltStep> finish() &&;

 private:
  const graph::OpTable& ops_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<graph::NodeId, graph::NodeId> origin_;
  std::optional<Error> error_;
};

}  // namespace lanista::step
