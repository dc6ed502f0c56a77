// Arithmetic on computed values, and activations.
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_same.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

using graph::Attrs;
using graph::Port;
using Ports = std::span<const Port>;
using Planned = Result<Plan>;

/// An operator of ours on values of one shape.
Rule together(const std::string& op) {
  return [op](const Site& site) -> Planned {
    LANISTA_TRY(site.only({}));
    LANISTA_ASSIGN(auto reads, site.all_data());
    return Plan{std::move(reads), [op](ModelWriter& w, Ports inputs) -> Result<Port> {
                  if (inputs.size() == 1) return inputs[0];
                  for (const Port& input : inputs) {
                    if (w.dims(input) == w.dims(inputs[0])) continue;
                    return refused("it stretches " + graph::Shape{w.dims(input)}.text() + " and " +
                                   graph::Shape{w.dims(inputs[0])}.text() + " to one shape");
                  }
                  return w.add(op, {inputs.begin(), inputs.end()});
                }};
  };
}

/// A gate [N, C, 1, 1] on images, or [N, 1, C] on sequences.
Result<std::optional<Port>> gated(ModelWriter& w, Port value, Port gate) {
  const List dims = w.dims(value);
  List wanted = dims;
  const std::size_t channel = dims.size() == 4 ? 1 : dims.size() - 1;
  for (std::size_t i = 1; i < wanted.size(); ++i) wanted[i] = i == channel ? dims[i] : 1;
  if (dims.size() < 3 || dims == wanted || w.dims(gate) != wanted) return std::optional<Port>();
  LANISTA_ASSIGN(const Port flat, in_shape(w, gate, {dims[channel]}));
  LANISTA_ASSIGN(const Port result, w.add("scale", {value, flat}));
  return std::optional(result);
}

Planned mul(const Site& site) {
  LANISTA_ASSIGN(const Plan plan, together("mul")(site));
  return Plan{plan.reads, [write = plan.write](ModelWriter& w, Ports inputs) -> Result<Port> {
                for (const std::size_t i : {0U, 1U}) {
                  if (inputs.size() != 2) break;
                  LANISTA_ASSIGN(const auto result, gated(w, inputs[i], inputs[1 - i]));
                  if (result) return *result;
                }
                return write(w, inputs);
              }};
}

Planned negative(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return direct({std::move(input)}, "scale_by", {{"by", -1.0}});
}

/// x^1 and x^2.
Planned power(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  const auto exponent = site.has(1) ? site.view().scalar(site.node().inputs[1]) : std::nullopt;
  if (exponent == 2.0F) return direct({input, input}, "mul");
  return refused("its exponent is not 2");
}

/// One of our operators with one number, an attribute in both.
Rule with_alpha(const std::string& op, double otherwise) {
  return [op, otherwise](const Site& site) -> Planned {
    LANISTA_TRY(site.only({"alpha"}));
    LANISTA_ASSIGN(std::string input, site.data(0));
    LANISTA_ASSIGN(const double alpha, site.real("alpha", otherwise));
    return direct({std::move(input)}, op, {{"alpha", alpha}});
  };
}

Planned hard_sigmoid(const Site& site) {
  LANISTA_TRY(site.only({"alpha", "beta"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const double alpha, site.real("alpha", 0.2F));
  LANISTA_ASSIGN(const double beta, site.real("beta", 0.5));
  return direct({std::move(input)}, "hard_sigmoid", {{"alpha", alpha}, {"beta", beta}});
}

/// A bound of Clip: an attribute up to opset 10, then an input.
Result<std::optional<double>> bound(const Site& site, const char* name, std::size_t i) {
  if (site.node().attributes.contains(name)) {
    LANISTA_ASSIGN(const double number, site.real(name, 0));
    return std::optional(number);
  }
  if (!site.has(i)) return std::optional<double>();
  LANISTA_ASSIGN(const Tensor* tensor, site.weight(i));
  if (tensor->elements() != 1) return broken("a bound is no single number");
  return std::optional(widened(elements_of<float>(*tensor).front()));
}

Planned clip(const Site& site) {
  LANISTA_TRY(site.only({"min", "max"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const auto min, bound(site, "min", 1));
  LANISTA_ASSIGN(const auto max, bound(site, "max", 2));
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  const double low = min.value_or(-largest), high = max.value_or(largest);
  if (std::isnan(low) || std::isnan(high)) return refused("a bound is not a number");
  if (low == 0 && high >= largest) return direct({std::move(input)}, "relu");
  if (low == 0 && high == 6) return direct({std::move(input)}, "relu6");
  Attrs attrs;
  if (low > -largest) attrs.set("min", low);
  if (high < largest) attrs.set("max", high);
  return direct({std::move(input)}, "clip", std::move(attrs));
}

/// From opset 20 on one node; before that groups.
Planned gelu(const Site& site) {
  LANISTA_TRY(site.only({"approximate"}));
  LANISTA_ASSIGN(const std::string form, site.text("approximate", "none"));
  LANISTA_ASSIGN(std::string input, site.data(0));
  Plan plan = direct({std::move(input)}, "gelu");
  if (form != "tanh") plan.notice = kErfNotice;
  return plan;
}

/// x sigmoid(alpha x).
Planned swish(const Site& site) {
  LANISTA_TRY(site.only({"alpha"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const double alpha, site.real("alpha", 1));
  if (alpha != 1) return refused("its alpha is not 1");
  return direct({std::move(input)}, "silu");
}

}  // namespace

Rules arithmetic_rules() {
  Rules rules{{"Add", {causal_mask_group, affine_group_norm_group, linear_group, affine_group, together("add")}},
              {"Clip", {clip}},
              {"Div", {affine_group, together("div")}},
              {"Elu", {with_alpha("elu", 1)}},
              {"Gelu", {gelu}},
              {"HardSigmoid", {hard_sigmoid}},
              {"HardSwish", {plain("hard_swish")}},
              {"LeakyRelu", {with_alpha("leaky_relu", 0.01F)}},
              {"Mul", {silu_group, gelu_group, affine_group, mul}},
              {"Neg", {negative}},
              {"Pow", {power}},
              {"Sub", {affine_group, together("sub")}},
              {"Sum", {affine_group, together("add")}},
              {"Swish", {swish}}};
  for (const SameOperator& same : same_operators()) rules[same.onnx].push_back(plain(same.ours));
  return rules;
}

}  // namespace lanista::formats::onnx
