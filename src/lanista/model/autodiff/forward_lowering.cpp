#include "lanista/model/autodiff/forward_lowering.h"

#include <algorithm>
#include <span>

#include "lanista/base/check.h"

namespace lanista::autodiff {

using graph::Attrs;
using graph::Node;
using graph::NodeId;
using graph::OpArgs;
using graph::OpDef;
using graph::Port;

namespace {

bool has_attr(const OpDef& def, std::string_view name) {
  return std::any_of(def.attrs.begin(), def.attrs.end(), [&](const auto& spec) { return spec.name == name; });
}

// The context of a decomposition: inputs, parameters, and emit(), which lowers each part in turn.
class DecompositionContext : public graph::StepContext {
 public:
  DecompositionContext(ForwardLowering& forward, const ForwardNode& node, const Attrs& attrs,
                       const std::vector<Port>& inputs, bool recorded)
      : StepContext(
            {.args = {node.data, attrs, *node.def}, .origin = node.origin, .inputs = inputs, .params = node.params}),
        forward_(forward),
        recorded_(recorded) {}

  Port emit(std::string op, std::vector<Port> inputs, Attrs attrs) override {
    return forward_.lower(op, std::move(inputs), std::move(attrs), origin(), recorded_);
  }

 private:
  ForwardLowering& forward_;
  bool recorded_;
};

}  // namespace

std::size_t param_input(const ForwardNode& node, std::string_view name) {
  const auto found =
      std::find_if(node.params.begin(), node.params.end(), [&](const auto& spec) { return spec.name == name; });
  LANISTA_CHECK(found != node.params.end(), node.def->name + " has no parameter " + std::string(name));
  return node.data.size() + static_cast<std::size_t>(found - node.params.begin());
}

Result<void> ForwardLowering::add_sources(const graph::Graph& model) {
  const Node& input = model.node(model.nodes_of("input").front());
  input_ = builder_.emit("input", {}, input.attrs, input.id);

  LANISTA_ASSIGN(const auto all, graph::parameters(model, builder_.ops()));
  for (const bool trained : {true, false}) {
    for (const graph::NamedParam& param : all) {
      if (param.spec.trained != trained) continue;
      const Attrs attrs{{"name", param.name}, {"shape", param.spec.shape.dims}};
      const Port port = builder_.emit(trained ? "parameter" : "buffer", {}, attrs, param.node);
      state_.push_back(
          {param.name, param.spec.shape, trained, param.spec.init, param.spec.fan_in, param.spec.deviation, port.node});
    }
  }
  // Operators may declare a buffer before a parameter; each node's list keeps the order of its definition.
  for (const graph::NamedParam& param : all) {
    const auto tensor =
        std::find_if(state_.begin(), state_.end(), [&](const StateTensor& t) { return t.name == param.name; });
    params_[param.node].push_back({tensor->node, 0});
  }
  return builder_.status();
}

Result<void> ForwardLowering::add_nodes(const graph::Graph& model) {
  for (const NodeId id : model.topo()) {
    const Node& node = model.node(id);
    if (node.is_input()) {
      values_[id] = input_;
      continue;
    }
    std::vector<Port> inputs;
    for (const Port& port : node.inputs) {
      LANISTA_ASSIGN(const Port value, value_of(model, port));
      inputs.push_back(value);
    }
    if (node.is_output()) {
      prediction_ = inputs.front();
      continue;
    }
    if (const auto params = params_.find(id); params != params_.end()) {
      inputs.insert(inputs.end(), params->second.begin(), params->second.end());
    }
    values_[id] = lower(node.op, std::move(inputs), node.attrs, id, true);
    LANISTA_TRY(builder_.status());
  }
  return {};
}

Result<Port> ForwardLowering::value_of(const graph::Graph& model, Port port) const {
  const Port value = values_.at(port.node);
  if (port.slot == 0) return value;
  const OpDef& def = *builder_.ops().find(model.node(port.node).op);
  if (!def.train_form.empty() || def.decompose) {
    return Error{Code::kInvalidArgument,
                 "output " + std::to_string(port.slot) + " of " + def.name +
                     " cannot be used: an operator with a train form or a decomposition has one output",
                 ""};
  }
  return Port{value.node, port.slot};
}

Port ForwardLowering::lower(const std::string& op, std::vector<Port> inputs, Attrs attrs, NodeId origin,
                            bool recorded) {
  const OpDef* def = builder_.ops().find(op);
  if (def == nullptr || builder_.failed()) return builder_.emit(op, std::move(inputs), std::move(attrs), origin);

  ForwardNode node{.id = {}, .def = def, .origin = origin, .data = {}, .params = {}};
  const Node shape_of_call{.id = {}, .op = op, .attrs = attrs, .inputs = inputs, .label = {}};
  const std::vector<graph::ValueType> types = builder_.types().inputs(shape_of_call);
  const auto num_data = static_cast<std::ptrdiff_t>(graph::num_data_inputs(shape_of_call, *def));
  node.data.assign(types.begin(), types.begin() + num_data);
  if (def->params) node.params = def->params(OpArgs{node.data, attrs, *def});

  if (def->decompose) {
    DecompositionContext parts(*this, node, attrs, inputs, recorded);
    return def->decompose(parts);
  }
  const bool in_train_form = mode_ == Mode::kTraining && !def->train_form.empty();
  const std::string& name = in_train_form ? def->train_form : op;
  if (const OpDef* lowered = builder_.ops().find(name); lowered != nullptr && has_attr(*lowered, "origin")) {
    attrs.set("origin", static_cast<std::int64_t>(origin.value));
  }
  const Port result = builder_.emit(name, std::move(inputs), std::move(attrs), origin);
  node.id = result.node;
  if (recorded && !builder_.failed()) nodes_.push_back(std::move(node));
  return result;
}

}  // namespace lanista::autodiff
