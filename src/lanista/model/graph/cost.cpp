#include <limits>
#include <span>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::graph {
namespace {

double bytes_of(const ValueType& type) {
  // Reals count four bytes, because models are trained in float32.
  const double each = type.dtype == DType::kByte ? 1.0 : 4.0;
  return each * static_cast<double>(type.shape.elements_per_sample());
}

Cost traffic(std::span<const ValueType> inputs, std::span<const ValueType> outputs) {
  Cost cost;
  for (const ValueType& type : inputs) cost.bytes += bytes_of(type);
  for (const ValueType& type : outputs) cost.bytes += bytes_of(type);
  return cost;
}

/// Calls `visit(node, args, outputs)` for every node, in dependency order.
template <class Visit>
Result<void> for_each_node(const Graph& graph, const OpTable& ops, Visit visit) {
  LANISTA_ASSIGN(const Types types, infer_shapes(graph, ops));
  for (const NodeId id : graph.topo()) {
    const Node& node = graph.node(id);
    const OpDef& def = *ops.find(node.op);
    const std::vector<ValueType> inputs = types.inputs(node);
    const OpArgs args{std::span(inputs).first(num_data_inputs(node, def)), node.attrs, def};
    visit(node, args, types.outputs(id));
  }
  return {};
}

}  // namespace

Result<std::vector<NamedParam>> parameters(const Graph& graph, const OpTable& ops) {
  std::vector<NamedParam> all;
  LANISTA_TRY(for_each_node(graph, ops, [&](const Node& node, const OpArgs& args, const auto&) {
    if (!args.def.params) return;
    for (ParamSpec& spec : args.def.params(args)) {
      std::string name = "n" + std::to_string(node.id.value) + "." + spec.name;
      all.push_back({node.id, std::move(name), std::move(spec)});
    }
  }));
  return all;
}

Result<ModelCost> model_cost(const Graph& graph, const OpTable& ops) {
  ModelCost total;
  LANISTA_TRY(for_each_node(graph, ops, [&](const Node&, const OpArgs& args, const std::vector<ValueType>& outputs) {
    total.forward += args.def.cost ? args.def.cost(args) : traffic(args.inputs, outputs);
    if (!args.def.params) return;
    for (const ParamSpec& spec : args.def.params(args)) {
      if (!spec.trained ||
          !__builtin_add_overflow(total.parameters, spec.shape.elements_per_sample(), &total.parameters)) {
        continue;
      }
      total.parameters = std::numeric_limits<std::int64_t>::max();  // saturates, since it is above every limit
    }
  }));
  return total;
}

}  // namespace lanista::graph
