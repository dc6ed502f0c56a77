#include <algorithm>
#include <string_view>
#include <utility>

#include "lanista/model/autodiff/backward_pass.h"
#include "lanista/model/autodiff/forward_lowering.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/step_ops.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::autodiff {
namespace {

using graph::Attrs;
using graph::NodeId;
using graph::Port;

// Returns the definition, or an error if there is none of this name.
template <class Def>
Result<const Def*> named(const Def* found, const char* kind, const std::string& name,
                         const std::vector<std::string>& known) {
  if (found != nullptr) return found;
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  return Error{Code::kInvalidArgument, std::string("no ") + kind + " '" + name + "'; known: " + list, ""};
}

// Adds the loss, and its gradient if a parameter needs it.
Result<void> add_loss(StepBuilder& builder, BackwardPass& backward, const Loss& loss, TrainingStep& step) {
  const graph::Shape prediction = builder.types().at(step.prediction).shape;
  LANISTA_TRY(loss.fits(prediction));
  std::vector<std::int64_t> wanted = graph::ops::without_batch(prediction);
  if (loss.of_classes()) wanted.pop_back();
  const Attrs target{{"shape", std::move(wanted)}, {"kind", std::string(loss.of_classes() ? "index" : "real")}};
  step.target = builder.emit("target", {}, target, std::nullopt);
  step.loss = builder.emit(loss.forward.name, {step.prediction, step.target}, {}, std::nullopt);
  LANISTA_TRY(builder.status());
  if (!backward.needs_grad(step.prediction)) return {};
  const Port from = loss.saved ? Port{step.loss.node, *loss.saved} : step.prediction;
  const Port gradient = builder.emit(loss.gradient.name, {from, step.target}, {}, std::nullopt);
  backward.add_gradient(step.prediction, {step.loss.node, 0}, gradient);
  return builder.status();
}

// Adds one update node over all parameters that a gradient reaches, with their slots, in order of state.
void add_update(StepBuilder& builder, const Optimizer& optimizer, TrainingStep& step) {
  if (step.gradient.empty()) return;
  std::vector<Port> inputs;
  std::vector<const StateTensor*> trained;
  for (const StateTensor& tensor : step.state) {
    if (step.gradient.contains(tensor.node)) trained.push_back(&tensor);
  }
  for (const StateTensor* tensor : trained) inputs.push_back({tensor->node, 0});
  for (const StateTensor* tensor : trained) inputs.push_back(step.gradient.at(tensor->node));
  for (const std::string& slot : optimizer.slots) {
    for (const StateTensor* tensor : trained) {
      const Attrs attrs{{"name", tensor->name + "." + slot}, {"shape", tensor->shape.dims}};
      inputs.push_back(builder.emit("slot", {}, attrs, std::nullopt));
    }
  }
  const Port update = builder.emit(optimizer.rule().name, std::move(inputs), {}, std::nullopt);
  step.commit.push_back(update.node);
}

void add_buffer_updates(StepBuilder& builder, const ForwardLowering& forward, TrainingStep& step) {
  for (const ForwardNode& record : forward.nodes()) {
    for (const auto& [name, slot] : record.def->buffer_updates) {
      const Port buffer = builder.graph().node(record.id).inputs.at(param_input(record, name));
      const Port value{record.id, slot};
      const Port update = builder.emit("buffer_update", {buffer, value}, {}, record.origin);
      step.commit.push_back(update.node);
      step.renewed.emplace(buffer.node, value);
    }
  }
}

// Returns the compute nodes in execution order, without the commit section.
std::vector<NodeId> pure_section(const graph::Graph& graph, const graph::OpTable& ops) {
  std::vector<NodeId> order = graph.topo();
  std::erase_if(order, [&](NodeId id) { return ops.find(graph.node(id).op)->role != graph::OpRole::kCompute; });
  return order;
}

}  // namespace

Result<TrainingStep> derive_training_step(const graph::Graph& model, const StepOptions& options,
                                          const graph::OpTable& ops) {
  LANISTA_ASSIGN(const Loss* loss, named(find_loss(options.loss), "loss", options.loss, loss_names()));
  LANISTA_ASSIGN(const Optimizer* optimizer,
                 named(find_optimizer(options.optimizer), "optimizer", options.optimizer, optimizer_names()));
  LANISTA_TRY(graph::verify(model, ops));
  StepBuilder builder(ops);
  ForwardLowering forward(builder, Mode::kTraining);
  LANISTA_TRY(forward.add_sources(model));
  LANISTA_TRY(forward.add_nodes(model));

  TrainingStep step;
  step.options = options;
  step.state = forward.state_tensors();
  step.input = forward.input();
  step.prediction = forward.prediction();
  BackwardPass backward(builder, forward);
  LANISTA_TRY(add_loss(builder, backward, *loss, step));
  LANISTA_TRY(backward.run());
  step.gradient = backward.parameter_gradient();
  add_update(builder, *optimizer, step);
  add_buffer_updates(builder, forward, step);
  LANISTA_TRY(builder.status());

  std::vector<Port> roots{step.prediction, step.loss};
  for (const NodeId id : step.commit) roots.push_back({id, 0});
  builder.remove_dead(roots);
  LANISTA_ASSIGN(auto built, std::move(builder).finish());
  step.graph = std::move(built.graph);
  step.types = std::move(built.types);
  step.origin = std::move(built.origin);
  step.compute = pure_section(step.graph, ops);
  return step;
}

Result<InferenceStep> derive_inference_step(const graph::Graph& model, const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(model, ops));
  StepBuilder builder(ops);
  ForwardLowering forward(builder, Mode::kInference);
  LANISTA_TRY(forward.add_sources(model));
  LANISTA_TRY(forward.add_nodes(model));
  builder.remove_dead({forward.prediction()});

  LANISTA_ASSIGN(auto built, std::move(builder).finish());
  InferenceStep step;
  step.graph = std::move(built.graph);
  step.types = std::move(built.types);
  step.state = forward.state_tensors();
  step.compute = pure_section(step.graph, ops);
  step.input = forward.input();
  step.prediction = forward.prediction();
  return step;
}

}  // namespace lanista::autodiff
