#include "lanista/runtime/pipeline_stages.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "lanista/graph/infer.h"

namespace lanista::runtime {
namespace {

double bytes_of(const graph::ValueType& type) { return 4.0 * static_cast<double>(type.shape.elements_per_sample()); }

// A sample forward; gradients of inputs and of parameters take about as much each.
void price(const graph::Cost& cost, bool is_trained, std::int64_t batch, const graph::CostPrices& prices,
           pipeline::Operator& op) {
  for (std::int64_t n = 1;; n *= 2) {
    const auto samples = static_cast<double>(n);
    const double seconds = 1e-6 * graph::predicted_us(prices, cost.flops * samples, cost.bytes * samples);
    op.forward.push_back(seconds);
    op.input_grad.push_back(seconds);
    op.weight_grad.push_back(is_trained ? seconds : 0);
    if (n >= batch) return;
  }
}

Result<nn::StagePass> pass_of(const pipeline::Action& action) {
  nn::StagePass pass{.stage = action.stage, .micro = action.micro};
  switch (action.kind) {
    case pipeline::Kind::kForward:
      pass.kind = nn::StagePass::Kind::kForward;
      return pass;
    case pipeline::Kind::kBackward:
      pass.kind = nn::StagePass::Kind::kBackward;
      return pass;
    case pipeline::Kind::kInputGrad:
      pass.kind = nn::StagePass::Kind::kInputGrad;
      return pass;
    case pipeline::Kind::kWeightGrad:
      pass.kind = nn::StagePass::Kind::kWeightGrad;
      return pass;
    default:
      return Error{Code::kUnimplemented,
                   pipeline::text_of(action) + ": threads of one process take schedules of passes alone", ""};
  }
}

}  // namespace

Result<PlannedModel> planned_model(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                                   double copies, const graph::CostPrices& prices) {
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  PlannedModel planned;
  planned.model.batch = batch;
  planned.model.parameter_copies = copies;
  planned.model.hash = graph::canonical_hash(graph, ops);
  std::map<graph::NodeId, std::uint32_t> number;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    if (node.op == "input" || node.op == "output") continue;
    const graph::OpDef& def = *ops.find(node.op);
    const std::vector<graph::ValueType> inputs = types.inputs(node);
    const graph::OpArgs args{std::span(inputs).first(graph::num_data_inputs(node, def)), node.attrs, def};
    pipeline::Operator op;
    op.name = "%" + std::to_string(id.value) + " " + node.op;
    graph::Cost cost = def.cost ? def.cost(args) : graph::Cost{};
    for (const graph::ValueType& type : types.outputs(id)) op.output_bytes += bytes_of(type);
    for (const graph::ValueType& type : inputs) cost.bytes += def.cost ? 0 : bytes_of(type);
    if (!def.cost) cost.bytes += op.output_bytes;
    op.activation_bytes = op.output_bytes;
    bool is_trained = false;
    if (def.params) {
      for (const graph::ParamSpec& param : def.params(args)) {
        op.parameter_bytes += 4.0 * static_cast<double>(param.shape.elements_per_sample());
        is_trained = is_trained || param.trained;
      }
    }
    price(cost, is_trained, batch, prices, op);
    const auto at = static_cast<std::uint32_t>(planned.nodes.size());
    number[id] = at;
    for (const graph::Port& port : node.inputs) {
      if (const auto from = number.find(port.node); from != number.end()) {
        planned.model.edges.emplace_back(from->second, at);
      }
    }
    planned.nodes.push_back(id);
    planned.model.operators.push_back(std::move(op));
  }
  auto& edges = planned.model.edges;
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  LANISTA_TRY(pipeline::check(planned.model));
  return planned;
}

Result<nn::Stages> stages_of(const pipeline::Plan& plan, const pipeline::Schedule& schedule,
                             const pipeline::Problem& problem, const std::vector<graph::NodeId>& nodes) {
  LANISTA_TRY(pipeline::check(plan, problem));
  LANISTA_TRY(pipeline::prove(schedule, plan));
  nn::Stages stages;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const pipeline::Stage& stage = plan.stages[i];
    if (stage.devices.size() > 1) {
      return Error{Code::kUnimplemented,
                   "stage " + std::to_string(i) + " is on " + std::to_string(stage.devices.size()) +
                       " devices; threads of one process take a stage each",
                   ""};
    }
    nn::Stage own{.nodes = {},
                  .micro_batches = plan.batch / stage.micro_batch,
                  .slots = stage.in_flight / stage.micro_batch,
                  .after = stage.successors};
    for (const std::uint32_t op : stage.operators) own.nodes.push_back(nodes.at(op));
    stages.stages.push_back(std::move(own));
  }
  for (const pipeline::Place& place : schedule.places) {
    stages.places.emplace_back();
    for (const pipeline::Action& action : place.actions) {
      // One update follows when all places are done.
      if (action.kind == pipeline::Kind::kReduce || action.kind == pipeline::Kind::kStep) continue;
      LANISTA_ASSIGN(const nn::StagePass pass, pass_of(action));
      stages.places.back().push_back(pass);
    }
  }
  return stages;
}

}  // namespace lanista::runtime
