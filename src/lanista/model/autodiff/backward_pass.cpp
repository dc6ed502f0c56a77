#include "lanista/model/autodiff/backward_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::autodiff {

using graph::Attrs;
using graph::Node;
using graph::NodeId;
using graph::Port;

namespace {

// The context of the gradient rule of one forward node.
class GradientEmitter : public graph::GradientContext {
 public:
  GradientEmitter(BackwardPass& backward, ForwardLowering& forward, const ForwardNode& record, const Node& node,
                  Port gradient)
      : GradientContext({.args = {record.data, node.attrs, *record.def},
                         .origin = record.origin,
                         .inputs = node.inputs,
                         .params = record.params},
                        node.id, gradient),
        backward_(backward),
        forward_(forward) {}

  Port emit(std::string op, std::vector<Port> inputs, Attrs attrs) override {
    return forward_.lower(op, std::move(inputs), std::move(attrs), origin(), false);
  }

 private:
  bool needs_gradient(Port value) const override { return backward_.needs_grad(value); }
  void add_gradient(std::size_t input, Port gradient) override {
    backward_.add_gradient(node().inputs[input], {output().node, static_cast<std::uint32_t>(input)}, gradient);
  }

  BackwardPass& backward_;
  ForwardLowering& forward_;
};

}  // namespace

BackwardPass::BackwardPass(StepBuilder& builder, ForwardLowering& forward) : builder_(builder), forward_(forward) {
  for (const StateTensor& tensor : forward.state_tensors()) {
    if (tensor.trained) differentiable_.insert(tensor.node);
  }
  for (const ForwardNode& record : forward.nodes()) {
    const auto& inputs = builder.graph().node(record.id).inputs;
    const bool upstream = std::any_of(inputs.begin(), inputs.end(), [&](Port p) { return needs_grad(p); });
    if (record.def->gradient && upstream) differentiable_.insert(record.id);
  }
}

void BackwardPass::add_gradient(Port value, graph::Use use, Port gradient) {
  if (builder_.failed() || !needs_grad(value)) return;
  const graph::ValueType& wanted = builder_.types().at(value);
  const graph::ValueType& given = builder_.types().at(gradient);
  if (wanted != given) {
    builder_.fail({Code::kInvalidArgument,
                   "the gradient rule of " + builder_.graph().node(use.node).op + " gives " + given.shape.text() +
                       " for input " + std::to_string(use.slot) + ", which is " + wanted.shape.text(),
                   ""});
    return;
  }
  const bool first = summands_[value].emplace(use, gradient).second;
  LANISTA_CHECK(first, "a gradient rule of " + builder_.graph().node(use.node).op + " sets a gradient twice");
}

std::optional<Port> BackwardPass::total(Port value, NodeId origin) {
  const auto found = summands_.find(value);
  if (found == summands_.end()) return std::nullopt;
  std::vector<Port> ports;
  for (const auto& [use, gradient] : found->second) ports.push_back(gradient);
  return ports.size() == 1 ? ports.front() : builder_.emit("add", std::move(ports), {}, origin);
}

Result<void> BackwardPass::run() {
  for (auto record = forward_.nodes().rbegin(); record != forward_.nodes().rend(); ++record) {
    if (!differentiable_.contains(record->id)) continue;
    const auto gradient = total({record->id, 0}, record->origin);
    if (!gradient) continue;
    // The graph grows while the rule runs, so the rule gets a copy of the node.
    const Node node = builder_.graph().node(record->id);
    GradientEmitter context(*this, forward_, *record, node, *gradient);
    record->def->gradient(context);
    LANISTA_TRY(builder_.status());
  }
  for (const StateTensor& tensor : forward_.state_tensors()) {
    if (!tensor.trained) continue;
    const auto gradient = total({tensor.node, 0}, builder_.origin().at(tensor.node));
    if (gradient) parameter_gradient_.emplace(tensor.node, *gradient);
  }
  return builder_.status();
}

}  // namespace lanista::autodiff
