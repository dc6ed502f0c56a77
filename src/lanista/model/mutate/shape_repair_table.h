#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

/// A cache of shape repairs between the values of one model. Each pair of types is planned once, when it is first asked
/// for.
///
/// It keeps references, so view and policy must live as long as the table. Not thread-safe.
class ShapeRepairTable {
 public:
  /// Numbers the distinct types of output 0 of all nodes. Plans nothing yet.
  ShapeRepairTable(const ModelView& view, const RepairPolicy& policy);

  /// The number of the type of output 0 of a node, from 0. Two nodes have the same number if these types are equal.
  std::size_t type_number(graph::NodeId value) const { return numbers_.at(value); }
  /// The result of `plan_shape_repair` from the type of node `from` to that of `to`. The reference lives as long as the
  /// table.
  const Result<std::vector<RepairOp>>& plan(graph::NodeId from, graph::NodeId to) { return entry(from, to).plan; }
  /// The reason why the value of node `from` cannot be repaired to the type of node `to`, or no value if it can. It
  /// also tries the plan on the types. The reference lives as long as the table.
  const std::optional<std::string>& objection(graph::NodeId from, graph::NodeId to);

 private:
  struct Entry {
    Result<std::vector<RepairOp>> plan;
    bool tried = false;
    std::optional<std::string> objection;
  };
  Entry& entry(graph::NodeId from, graph::NodeId to);

  const ModelView& view_;
  const RepairPolicy& policy_;
  std::map<graph::NodeId, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, Entry> entries_;
};

}  // namespace lanista::mutate
