// Arithmetic on computed values, and activations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// A rule for an operator on values that are broadcast to one shape.
RewriteRule binary_operator(const std::string& op) {
  return [op](const NodeReader& node_reader) -> RewriteResult {
    LANISTA_TRY(node_reader.allow_attributes({}));
    LANISTA_ASSIGN(auto input_values, node_reader.computed_inputs());
    return placed_rewrite(std::move(input_values), [op](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
      if (inputs.empty()) return malformed("it has no inputs");
      PlacedPort value = inputs[0];
      const auto same = [&](const PlacedPort& input) {
        return input.place == value.place && w.dims(input.port) == w.dims(value.port);
      };
      if (inputs.size() > 2 && std::ranges::all_of(inputs, same)) {
        std::vector<Port> ports;
        for (const PlacedPort& input : inputs) ports.push_back(input.port);
        LANISTA_ASSIGN(value.port, w.add(op, std::move(ports)));
        return value;
      }
      for (const PlacedPort& input : inputs.subspan(1)) {
        LANISTA_ASSIGN(const auto both, placed_broadcast(w, value, input));
        LANISTA_ASSIGN(value.port, w.add(op, {both.first.port, both.second.port}));
        value.place = both.first.place;
      }
      return value;
    });
  };
}

/// A product with a gate [N, C, 1, 1] on images, or [N, 1, C] on sequences.
Result<std::optional<Port>> gated(ModelWriter& w, Port value, Port gate) {
  const List dims = w.dims(value);
  List gate_dims = dims;
  const std::size_t channel = dims.size() == 4 ? 1 : dims.size() - 1;
  for (std::size_t i = 1; i < gate_dims.size(); ++i) gate_dims[i] = i == channel ? dims[i] : 1;
  if (dims.size() < 3 || dims == gate_dims || w.dims(gate) != gate_dims) return std::optional<Port>();
  LANISTA_ASSIGN(const Port flat, in_shape(w, gate, {dims[channel]}));
  LANISTA_ASSIGN(const Port result, w.add("scale", {value, flat}));
  return std::optional(result);
}

RewriteResult mul(const NodeReader& node_reader) {
  LANISTA_ASSIGN(Rewrite rewrite, binary_operator("mul")(node_reader));
  rewrite.emit_placed = [emit = rewrite.emit_placed](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    for (const std::size_t i : {0U, 1U}) {
      if (inputs.size() != 2 || !inputs[0].place.in_front() || !inputs[1].place.in_front()) break;
      LANISTA_ASSIGN(const auto result, gated(w, inputs[i].port, inputs[1 - i].port));
      if (result) return PlacedPort{*result, {}};
    }
    return emit(w, inputs);
  };
  return rewrite;
}

RewriteResult negative(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return elementwise(single_operator({std::move(input)}, "scale_by", {{"by", -1.0}}));
}

/// A rule for an operator with one number, an attribute in both.
RewriteRule with_alpha(const std::string& op, double default_value) {
  return [op, default_value](const NodeReader& node_reader) -> RewriteResult {
    LANISTA_TRY(node_reader.allow_attributes({"alpha"}));
    LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
    LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", default_value));
    return elementwise(single_operator({std::move(input)}, op, {{"alpha", alpha}}));
  };
}

RewriteResult hard_sigmoid(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"alpha", "beta"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", 0.2F));
  LANISTA_ASSIGN(const double beta, node_reader.real("beta", 0.5));
  return elementwise(single_operator({std::move(input)}, "hard_sigmoid", {{"alpha", alpha}, {"beta", beta}}));
}

/// A bound of Clip: an attribute up to opset 10, then an input.
Result<std::optional<double>> bound(const NodeReader& node_reader, const char* name, std::size_t i) {
  if (node_reader.node().attributes.contains(name)) {
    LANISTA_ASSIGN(const double number, node_reader.real(name, 0));
    return std::optional(number);
  }
  if (!node_reader.has(i)) return std::optional<double>();
  LANISTA_ASSIGN(const Tensor* tensor, node_reader.weight(i));
  if (tensor->elements() != 1) return malformed("a bound is no single number");
  return std::optional(shortest_double(elements_of<float>(*tensor).front()));
}

RewriteResult clip(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"min", "max"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const auto min, bound(node_reader, "min", 1));
  LANISTA_ASSIGN(const auto max, bound(node_reader, "max", 2));
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  const double low = min.value_or(-largest), high = max.value_or(largest);
  if (std::isnan(low) || std::isnan(high)) return unsupported("a bound is not a number");
  if (low == 0 && high >= largest) return elementwise(single_operator({std::move(input)}, "relu"));
  if (low == 0 && high == 6) return elementwise(single_operator({std::move(input)}, "relu6"));
  Attrs attrs;
  if (low > -largest) attrs.set("min", low);
  if (high < largest) attrs.set("max", high);
  return elementwise(single_operator({std::move(input)}, "clip", std::move(attrs)));
}

/// Gelu as one node, from opset 20 on. Before, it is a group.
RewriteResult gelu(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"approximate"}));
  LANISTA_ASSIGN(const std::string form, node_reader.text("approximate", "none"));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return elementwise(single_operator({std::move(input)}, form == "tanh" ? "gelu" : "gelu_erf"));
}

/// x sigmoid(alpha x).
RewriteResult swish(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"alpha"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", 1));
  if (alpha != 1) return unsupported("its alpha is not 1");
  return elementwise(single_operator({std::move(input)}, "silu"));
}

}  // namespace

RewriteRules arithmetic_rules() {
  RewriteRules rules{{"Add",
                      {causal_mask_group, affine_group_norm_group, layer_norm_group, linear_group, affine_group,
                       binary_operator("add")}},
                     {"Clip", {clip}},
                     {"Div", {layer_norm_group, affine_group, constant_quotient, binary_operator("div")}},
                     {"Elu", {with_alpha("elu", 1)}},
                     {"Gelu", {gelu}},
                     {"HardSigmoid", {hard_sigmoid}},
                     {"LeakyRelu", {with_alpha("leaky_relu", 0.01F)}},
                     {"Mul", {silu_group, gelu_group, layer_norm_group, signed_size_group, affine_group, mul}},
                     {"Neg", {negative}},
                     {"Sub", {affine_group, binary_operator("sub")}},
                     {"Sum", {affine_group, binary_operator("add")}},
                     {"Swish", {swish}}};
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    const graph::OpDef& def = *ops.find(name);
    if (def.facts.units == graph::UnitFlow::kAll && def.attrs.empty() && !def.exports.onnx.empty()) {
      rules[def.exports.onnx].push_back(same_operator(name));
    }
  }
  return rules;
}

}  // namespace lanista::formats::onnx
