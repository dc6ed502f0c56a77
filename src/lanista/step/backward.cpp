#include "lanista/step/backward.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::step {

using graph::Attrs;
using graph::Node;
using graph::NodeId;
using graph::OpArgs;
using graph::Port;

namespace {

class GradientContext : public graph::StepContext {
 public:
  GradientContext(Backward& backward, Forward& forward, const ForwardNode& record, const Node& node, Port gradient)
      : backward_(backward), forward_(forward), record_(record), node_(node), gradient_(gradient) {}

  OpArgs args() const override { return {record_.data, node_.attrs, *record_.def}; }
  NodeId origin() const override { return record_.origin; }
  Port input(std::size_t i) const override {
    LANISTA_CHECK(i < record_.data.size(), node_.op + " has no input " + std::to_string(i));
    return node_.inputs[i];
  }
  Port param(std::string_view name) const override { return node_.inputs[param_input(record_, name)]; }
  Port output(std::size_t slot) const override { return {node_.id, static_cast<std::uint32_t>(slot)}; }
  bool needs_grad(std::size_t i) const override { return backward_.needs_grad(input(i)); }
  Port grad() const override { return gradient_; }
  Port emit(std::string op, std::vector<Port> inputs, Attrs attrs) override {
    return forward_.lower(op, std::move(inputs), std::move(attrs), record_.origin, false);
  }
  void set_input_grad(std::size_t i, Port gradient) override { backward_.contribute(input(i), use(i), gradient); }
  void set_param_grad(std::string_view name, Port gradient) override {
    const std::size_t i = param_input(record_, name);
    LANISTA_CHECK(record_.params[i - record_.data.size()].trained, node_.op + ": a buffer has no gradient");
    backward_.contribute(node_.inputs[i], use(i), gradient);
  }

 private:
  graph::Use use(std::size_t i) const { return {node_.id, static_cast<std::uint32_t>(i)}; }

  Backward& backward_;
  Forward& forward_;
  const ForwardNode& record_;
  const Node& node_;
  Port gradient_;
};

}  // namespace

Backward::Backward(StepBuilder& builder, Forward& forward) : builder_(builder), forward_(forward) {
  for (const StateTensor& tensor : forward.state()) {
    if (tensor.trained) differentiable_.insert(tensor.node);
  }
  for (const ForwardNode& record : forward.nodes()) {
    const auto& inputs = builder.graph().node(record.id).inputs;
    const bool upstream = std::any_of(inputs.begin(), inputs.end(), [&](Port p) { return needs_grad(p); });
    if (record.def->gradient && upstream) differentiable_.insert(record.id);
  }
}

void Backward::contribute(Port value, graph::Use use, Port gradient) {
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

std::optional<Port> Backward::total(Port value, NodeId origin) {
  const auto found = summands_.find(value);
  if (found == summands_.end()) return std::nullopt;
  std::vector<Port> ports;
  for (const auto& [use, gradient] : found->second) ports.push_back(gradient);
  return ports.size() == 1 ? ports.front() : builder_.emit("add", std::move(ports), {}, origin);
}

Result<void> Backward::run() {
  for (auto record = forward_.nodes().rbegin(); record != forward_.nodes().rend(); ++record) {
    if (!differentiable_.contains(record->id)) continue;
    const auto gradient = total({record->id, 0}, record->origin);
    if (!gradient) continue;
    // The graph grows while the rule runs, so the rule gets a node of its own.
    const Node node = builder_.graph().node(record->id);
    GradientContext context(*this, forward_, *record, node, *gradient);
    record->def->gradient(context);
    LANISTA_TRY(builder_.status());
  }
  for (const StateTensor& tensor : forward_.state()) {
    if (!tensor.trained) continue;
    const auto gradient = total({tensor.node, 0}, builder_.origin().at(tensor.node));
    if (gradient) parameter_gradient_.emplace(tensor.node, *gradient);
  }
  return builder_.status();
}

}  // namespace lanista::step
