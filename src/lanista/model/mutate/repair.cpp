#include <algorithm>

#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

using graph::Node;
using graph::NodeId;
using graph::ValueType;

namespace {

/// Visits the graph in dependency order and infers types, so that a join is repaired before its users are typed.
class Repairer {
 public:
  Repairer(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy)
      : editor_(editor), ops_(ops), policy_(policy) {}

  Result<graph::Types> run() {
    LANISTA_TRY(check_wiring());
    for (const NodeId id : editor_.graph().topo()) {
      if (is_join(ops_, node(id).op)) LANISTA_TRY(fit_inputs(id));
      LANISTA_TRY(type_node(id));
    }
    return std::move(types_);
  }

 private:
  const Node& node(NodeId id) const { return editor_.graph().node(id); }

  Result<void> check_wiring() const {
    const graph::Graph& g = editor_.graph();
    for (const auto& item : g.nodes()) {
      for (const graph::Port& port : item->inputs) {
        if (g.contains(port.node)) continue;
        return not_applicable(site_name(*item) + " reads %" + std::to_string(port.node.value) + ", which is gone");
      }
    }
    if (g.topo().size() != g.size()) return not_applicable("the edited graph has a cycle");
    return {};
  }

  Result<void> type_node(NodeId id) {
    const Node& n = node(id);
    LANISTA_TRY(graph::check_node(n, ops_));
    const graph::OpDef& def = *ops_.find(n.op);
    const auto inputs = types_.inputs(n);
    auto outputs = def.infer({inputs, n.attrs, def});
    if (!outputs) return not_applicable(site_name(n) + ": " + outputs.error().message);
    types_.set(id, *std::move(outputs));
    return {};
  }

  Result<void> fit_inputs(NodeId id) {
    const Node join = node(id);
    LANISTA_TRY(graph::check_node(join, ops_));
    const auto have = types_.inputs(join);
    const ValueType common = common_type(have, policy_);
    std::optional<std::size_t> axis;
    if (ops_.find(join.op)->facts.units == graph::UnitFlow::kConcat) {
      axis = static_cast<std::size_t>(graph::OpArgs{{}, join.attrs, *ops_.find(join.op)}.integer("axis"));
    }
    for (std::size_t i = 0; i < have.size(); ++i) {
      const ValueType want = input_type(common, have[i], axis);
      if (have[i] == want || retarget(join.inputs[i], have[i], want)) continue;
      auto plan = plan_shape_repair(have[i], want, policy_);
      if (!plan) {
        return Error{plan.error().code, site_name(join) + ", input " + std::to_string(i) + ": " + plan.error().message,
                     ""};
      }
      const NodeId first_unique = editor_.graph().next_id();
      const graph::Port fitted = emit_shape_repair(editor_, join.inputs[i], *plan);
      for (NodeId added = first_unique; added < editor_.graph().next_id(); ++added.value) {
        LANISTA_TRY(type_node(added));
      }
      editor_.set_input(id, static_cast<std::uint32_t>(i), fitted);
    }
    return {};
  }

  /// A projection from an earlier repair of this join gets the new width, because a second one would
  /// be wasteful.
  bool retarget(graph::Port source, const ValueType& have, const ValueType& want) {
    const Node& producer = node(source.node);
    const bool is_projection = is_repair(producer) && is_layer(ops_, producer.op);
    if (!is_projection || have.shape.rank() != want.shape.rank()) return false;
    if (policy_.channels != RepairPolicy::Channels::kProject) return false;
    if (editor_.graph().consumers(source.node).size() != 1) return false;
    const bool last = ops_.find(producer.op)->facts.mixes == graph::MixedAxis::kLast;
    const std::size_t axis = last ? have.shape.rank() - 1 : 1;
    ValueType changed = have;
    changed.shape.dims[axis] = want.shape.dims[axis];
    if (changed != want) return false;
    editor_.set(source.node, "out", want.shape.dims[axis]);
    types_.set(source.node, {want});
    return true;
  }

  graph::Editor& editor_;
  const graph::OpTable& ops_;
  const RepairPolicy& policy_;
  graph::Types types_;
};

}  // namespace

Result<graph::Types> repair_and_type(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy) {
  return Repairer(editor, ops, policy).run();
}

Result<graph::Edited> finish_mutation(graph::Editor&& editor, const ModelView& before, const RepairPolicy& policy) {
  LANISTA_ASSIGN(const graph::Types types, repair_and_type(editor, before.ops(), policy));
  const auto outputs = editor.graph().nodes_of("output");
  if (outputs.size() != 1) return not_applicable("the output would be lost");
  const ValueType& now = types.outputs(outputs.front()).front();
  if (now != before.output_type()) {
    return not_applicable("would change the output from " + before.output_type().shape.text() + " to " +
                          now.shape.text());
  }
  auto edited = std::move(editor).commit();
  if (!edited) return not_applicable(edited.error().message);
  return edited;
}

}  // namespace lanista::mutate
