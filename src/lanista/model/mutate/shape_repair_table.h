#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

/// A cache of the shape repairs between the values of one model. It plans once for each pair of types.
///
/// It holds references, so view and policy must live as long as the table.
class ShapeRepairTable {
 public:
  /// Numbers the types of all values of a model.
  ShapeRepairTable(const ModelView& view, const RepairPolicy& policy);

  /// The number of the type of output 0 of a node. Values have equal numbers if their types are equal.
  std::size_t type_number(graph::NodeId value) const { return numbers_.at(value); }
  /// The result of `plan_shape_repair` from the type of one node to that of another.
  const Result<std::vector<RepairOp>>& plan(graph::NodeId from, graph::NodeId to) { return entry(from, to).plan; }
  /// Why the value of one node cannot be repaired to the type of another, or no value if it can.
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
