#include "lanista/model/mutate/shape_repair_table.h"

namespace lanista::mutate {

using graph::NodeId;
using graph::ValueType;

namespace {

/// Checks that the operations turn a value of type `have` into one of type `want`.
Result<void> try_pieces(const graph::OpTable& ops, const std::vector<RepairOp>& plan, ValueType have,
                        const ValueType& want) {
  for (const RepairOp& piece : plan) {
    if (piece.num_zeros > 0) LANISTA_TRY(result_type(ops, "zero", {}, {&have, 1}));
    const std::vector<ValueType> inputs(1 + static_cast<std::size_t>(piece.num_zeros), have);
    LANISTA_ASSIGN(have, result_type(ops, piece.op, piece.attrs, inputs));
  }
  if (have == want) return {};
  return not_applicable("the pieces give " + have.shape.text() + " instead of " + want.shape.text());
}

}  // namespace

ShapeRepairTable::ShapeRepairTable(const ModelView& view, const RepairPolicy& policy) : view_(view), policy_(policy) {
  std::map<std::pair<std::vector<std::int64_t>, graph::DType>, std::size_t> known;
  for (const auto& node : view.graph().nodes()) {
    const ValueType& type = view.type(node->id);
    numbers_.emplace(node->id, known.emplace(std::pair{type.shape.dims, type.dtype}, known.size()).first->second);
  }
}

ShapeRepairTable::Entry& ShapeRepairTable::entry(NodeId from, NodeId to) {
  const std::pair key{type_number(from), type_number(to)};
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  return entries_.emplace(key, Entry{plan_shape_repair(view_.type(from), view_.type(to), policy_), false, {}})
      .first->second;
}

const std::optional<std::string>& ShapeRepairTable::objection(NodeId from, NodeId to) {
  Entry& known = entry(from, to);
  if (known.tried) return known.objection;
  known.tried = true;
  const Result<void> fits = known.plan ? try_pieces(view_.ops(), *known.plan, view_.type(from), view_.type(to))
                                       : Result<void>(known.plan.error());
  if (!fits) known.objection = fits.error().message;
  return known.objection;
}

}  // namespace lanista::mutate
