#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

/// plan_shape_repair between the values of one model, made once for each pair of types: a model has many values and few types.
/// Holds references: view and policy must outlive it.
class ShapeRepairTable {
 public:
  ShapeRepairTable(const ModelView& view, const RepairPolicy& policy);

  /// Values with equal numbers have equal types.
  std::size_t type_number(graph::NodeId value) const { return numbers_.at(value); }
  /// plan_shape_repair from the type of one value to that of another.
  const Result<std::vector<RepairOp>>& plan(graph::NodeId from, graph::NodeId to) { return entry(from, to).plan; }
  /// Why a value cannot be made to fit another one: there is no plan, or an operator in it refuses. Nothing if it can.
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
