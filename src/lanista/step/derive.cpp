#include <algorithm>
#include <string_view>
#include <utility>

#include "lanista/graph/ops/rules.h"
#include "lanista/step/backward.h"
#include "lanista/step/forward.h"
#include "lanista/step/step_ops.h"
#include "lanista/step/training_step.h"

namespace lanista::step {
namespace {

using graph::Attrs;
using graph::NodeId;
using graph::Port;

// Ports of the loss, and of its gradient where anything wants it.
Result<void> add_loss(StepBuilder& builder, Backward& backward, TrainingStep& step) {
  const graph::ValueType prediction = builder.types().at(step.prediction);
  const bool classes = step.options.loss == Loss::kCrossEntropy;
  if (classes && (prediction.shape.rank() != 2 || prediction.shape.dims[1] < 2)) {
    return Error{Code::kInvalidArgument,
                 "cross-entropy wants an output of shape [N, classes] with at least two classes, but the model's is " +
                     prediction.shape.text(),
                 ""};
  }
  const Attrs target{{"shape", classes ? std::vector<std::int64_t>{} : graph::ops::without_batch(prediction.shape)},
                     {"kind", std::string(classes ? "index" : "real")}};
  step.target = builder.emit("target", {}, target, std::nullopt);
  const std::string name = classes ? "cross_entropy" : "mse";
  step.loss = builder.emit(name, {step.prediction, step.target}, {}, std::nullopt);
  LANISTA_TRY(builder.status());
  if (!backward.needs_grad(step.prediction)) return {};
  const Port from = classes ? Port{step.loss.node, 1} : step.prediction;
  const Port gradient = builder.emit(name + "_grad", {from, step.target}, {}, std::nullopt);
  backward.contribute(step.prediction, {step.loss.node, 0}, gradient);
  return builder.status();
}

// One node over all parameters that a gradient reaches, in order of state; each with its slots.
void add_update(StepBuilder& builder, TrainingStep& step) {
  if (step.gradient.empty()) return;
  const bool sgd = step.options.optimizer == Optimizer::kSgd;
  std::vector<Port> inputs;
  std::vector<const StateTensor*> trained;
  for (const StateTensor& tensor : step.state) {
    if (step.gradient.contains(tensor.node)) trained.push_back(&tensor);
  }
  for (const StateTensor* tensor : trained) inputs.push_back({tensor->node, 0});
  for (const StateTensor* tensor : trained) inputs.push_back(step.gradient.at(tensor->node));
  const std::vector<std::string> slots =
      sgd ? std::vector<std::string>{"momentum"} : std::vector<std::string>{"m", "v"};
  for (const std::string& slot : slots) {
    for (const StateTensor* tensor : trained) {
      const Attrs attrs{{"name", tensor->name + "." + slot}, {"shape", tensor->shape.dims}};
      inputs.push_back(builder.emit("slot", {}, attrs, std::nullopt));
    }
  }
  Attrs attrs;
  if (step.options.optimizer == Optimizer::kAdamW) attrs.set("decoupled", true);
  const Port update = builder.emit(sgd ? "sgd_update" : "adam_update", std::move(inputs), attrs, std::nullopt);
  step.commit.push_back(update.node);
}

void add_buffer_updates(StepBuilder& builder, const Forward& forward, TrainingStep& step) {
  for (const ForwardNode& record : forward.nodes()) {
    for (const auto& [name, slot] : record.def->buffer_updates) {
      const Port buffer = builder.graph().node(record.id).inputs.at(param_input(record, name));
      const Port update = builder.emit("buffer_update", {buffer, Port{record.id, slot}}, {}, record.origin);
      step.commit.push_back(update.node);
    }
  }
}

// Every node that computes something, commit section left out.
std::vector<NodeId> pure_section(const graph::Graph& graph, const std::vector<NodeId>& commit) {
  std::vector<NodeId> order = graph.topo();
  std::erase_if(order, [&](NodeId id) {
    return is_source(graph.node(id).op) || std::find(commit.begin(), commit.end(), id) != commit.end();
  });
  return order;
}

}  // namespace

Result<TrainingStep> derive_training_step(const graph::Graph& model, const StepOptions& options,
                                          const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(model, ops));
  StepBuilder builder(ops);
  Forward forward(builder, Mode::kTraining);
  LANISTA_TRY(forward.add_sources(model));
  LANISTA_TRY(forward.add_nodes(model));

  TrainingStep step;
  step.options = options;
  step.state = forward.state();
  step.input = forward.input();
  step.prediction = forward.prediction();
  Backward backward(builder, forward);
  LANISTA_TRY(add_loss(builder, backward, step));
  LANISTA_TRY(backward.run());
  step.gradient = backward.parameter_gradient();
  add_update(builder, step);
  add_buffer_updates(builder, forward, step);
  LANISTA_TRY(builder.status());

  std::vector<Port> roots{step.prediction, step.loss};
  for (const NodeId id : step.commit) roots.push_back({id, 0});
  builder.remove_dead(roots);
  LANISTA_ASSIGN(auto built, std::move(builder).finish());
  step.graph = std::move(built.graph);
  step.types = std::move(built.types);
  step.origin = std::move(built.origin);
  step.compute = pure_section(step.graph, step.commit);
  return step;
}

Result<InferenceStep> derive_inference_step(const graph::Graph& model, const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(model, ops));
  StepBuilder builder(ops);
  Forward forward(builder, Mode::kInference);
  LANISTA_TRY(forward.add_sources(model));
  LANISTA_TRY(forward.add_nodes(model));
  builder.remove_dead({forward.prediction()});

  LANISTA_ASSIGN(auto built, std::move(builder).finish());
  InferenceStep step;
  step.graph = std::move(built.graph);
  step.types = std::move(built.types);
  step.state = forward.state();
  step.compute = pure_section(step.graph, {});
  step.input = forward.input();
  step.prediction = forward.prediction();
  return step;
}

}  // namespace lanista::step
