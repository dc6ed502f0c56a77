#include "lanista/plan/pipeline/model_costs.h"

#include <algorithm>
#include <map>
#include <span>

namespace lanista::pipeline {
namespace {

/// Returns the seconds at 1, 2, 4, ... samples, up to the first size that reaches the batch.
Curve curve_of(std::string_view pass, const graph::Node& node, const graph::Types& types, const graph::Cost& work,
               std::int64_t batch, const plan::Costs& costs) {
  Curve curve;
  bool measured = true;
  for (std::int64_t n = 1;; n *= 2) {
    const plan::CostRow* row = measured ? costs.find(plan::work_text(node, types.inputs(node), n, pass)) : nullptr;
    const auto samples = static_cast<double>(n);
    if (row != nullptr) {
      curve.push_back(1e-6 * row->microseconds);
    } else if (n > 1 && measured) {
      break;  // The curve is proportional above the largest measured size.
    } else {
      measured = false;
      curve.push_back(1e-6 * costs.prices.us(work.flops * samples, work.bytes * samples));
    }
    if (n >= batch) break;
  }
  return curve;
}

/// Extends the shorter curves of a node in proportion, so that all have equally many sizes.
void make_equal(Operator& op) {
  const std::size_t sizes = std::max({op.forward.size(), op.input_grad.size(), op.weight_grad.size()});
  for (Curve* curve : {&op.forward, &op.input_grad, &op.weight_grad}) {
    while (curve->size() < sizes) curve->push_back(2 * curve->back());
  }
}

}  // namespace

Result<Model> model_of(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                       double parameter_copies, const plan::Costs& costs) {
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  Model model;
  model.batch = batch;
  model.parameter_copies = parameter_copies;
  model.hash = graph::canonical_hash(graph, ops);
  std::map<graph::NodeId, std::uint32_t> number;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    if (node.is_input() || node.is_output()) continue;
    const graph::OpDef& def = *ops.find(node.op);
    const std::vector<graph::ValueType> all = types.inputs(node);
    const auto inputs = std::span(all).first(graph::num_data_inputs(node, def));
    const graph::OpArgs args{inputs, node.attrs, def};
    Operator op;
    op.name = "%" + std::to_string(id.value) + " " + node.op;
    for (const graph::ValueType& type : types.outputs(id)) op.output_bytes += plan::bytes_of(type);
    op.activation_bytes = op.output_bytes;
    bool trained = false;
    for (const graph::ParamSpec& param : def.params ? def.params(args) : std::vector<graph::ParamSpec>{}) {
      op.parameter_bytes += 4.0 * static_cast<double>(param.shape.elements_per_sample());
      trained = trained || param.trained;
    }
    const graph::Cost work = plan::sample_work(node, types, def);
    op.forward = curve_of("forward", node, types, work, batch, costs);
    op.input_grad = curve_of("input_grad", node, types, work, batch, costs);
    op.weight_grad = trained ? curve_of("weight_grad", node, types, work, batch, costs) : Curve{0};
    make_equal(op);
    const auto at = static_cast<std::uint32_t>(model.operators.size());
    number[id] = at;
    for (const graph::Port& port : node.inputs) {
      if (const auto from = number.find(port.node); from != number.end()) model.edges.push_back({from->second, at});
    }
    model.operators.push_back(std::move(op));
  }
  std::ranges::sort(model.edges);
  model.edges.erase(std::unique(model.edges.begin(), model.edges.end()), model.edges.end());
  LANISTA_TRY(check(model));
  return model;
}

}  // namespace lanista::pipeline
