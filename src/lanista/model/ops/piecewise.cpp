// Piecewise linear activations, and the exponential linear unit.
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

constexpr double kLargest = static_cast<double>(std::numeric_limits<float>::max());

constexpr ValueFacts kKeepsPositive{.sign = SignRule::kAsInputs, .preserves_zero = true, .keeps_nonnegative = true};

/// Checks that the attributes are finite in single precision.
Result<void> require_floats(const OpArgs& args) {
  for (const AttrSpec& spec : args.def.attrs) {
    const double given = args.real(spec.name);
    if (std::abs(given) <= kLargest) continue;
    return shape_error(spec.name + " must be a number in single precision, but it is " + attr_text(given));
  }
  return {};
}

OpDef elu_op() {
  OpDef def = activation("elu", "x, and alpha (exp(x) - 1) below zero.", 10, SavedValue::kOutput, kKeepsPositive,
                         {.cpp = "v > 0 ? v : $alpha * std::expm1(v)", .onnx = "Elu"},
                         {optional_real("alpha", 1, AttrRole::kStatic, "minus the limit towards minus infinity")});
  def.infer = [plain = def.infer](const OpArgs& args) -> Result<std::vector<ValueType>> {
    const double alpha = args.real("alpha");
    if (alpha < 0) return shape_error("alpha must not be negative, but it is " + attr_text(alpha));
    return plain(args);
  };
  return def;
}

OpDef clip_op() {
  OpDef def = activation("clip", "x, no smaller than min and no larger than max.", 2, SavedValue::kOutput, {},
                         {.cpp = "v < $min ? $min : (v > $max ? $max : v)"},
                         {optional_real("min", -kLargest, AttrRole::kStatic, "smallest value"),
                          optional_real("max", kLargest, AttrRole::kStatic, "largest value")});
  def.infer = [plain = def.infer](const OpArgs& args) -> Result<std::vector<ValueType>> {
    const double min = args.real("min"), max = args.real("max");
    if (min > max) return shape_error("min " + attr_text(min) + " is above max " + attr_text(max));
    return plain(args);
  };
  def.family = OpFamily::kOther;  // a bound, not an activation between layers
  def.size_flow = SizeFlow::kUnknown;
  return def;
}

OpDef relu6_op() {
  OpDef def = named_op("relu6", "max(x, 0), no larger than 6.");
  def.facts = {.units = UnitFlow::kAll, .sign = SignRule::kNeverNegative, .preserves_zero = true};
  def.exports.cpp = "v < 0 ? 0 : (v > 6 ? 6 : v)";
  def.infer = infer_same;
  def.cost = elementwise_cost(2);
  def.family = OpFamily::kActivation;
  def.size_flow = SizeFlow::kAny;
  def.decompose = [](StepContext& step) { return step.emit("clip", {step.input(0)}, {{"min", 0.0}, {"max", 6.0}}); };
  return def;
}

}  // namespace

OpDef activation(std::string name, std::string help, double flops_per_element, SavedValue saved, ValueFacts facts,
                 ExportForms exports, std::vector<AttrSpec> attrs) {
  OpDef def = named_op(std::move(name), std::move(help));
  def.facts = facts;
  def.facts.units = UnitFlow::kAll;
  def.exports = std::move(exports);
  def.attrs = std::move(attrs);
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_floats(args));
    return infer_same(args);
  };
  def.cost = elementwise_cost(flops_per_element);
  def.family = OpFamily::kActivation;
  def.size_flow = SizeFlow::kAny;
  add_elementwise_gradient(def, saved);
  return def;
}

Result<void> add_piecewise_ops(OpTable& table) {
  return add_all(table,
                 {activation("leaky_relu", "x, and alpha x below zero.", 2, SavedValue::kInput, kKeepsPositive,
                             {.cpp = "v < 0 ? v * $alpha : v", .onnx = "LeakyRelu"},
                             {optional_real("alpha", 0.01, AttrRole::kStatic, "slope below zero")}),
                  elu_op(), clip_op(), relu6_op(),
                  activation("hard_sigmoid", "alpha x + beta, clipped to [0, 1].", 4, SavedValue::kOutput,
                             {.sign = SignRule::kNeverNegative},
                             {.cpp = "std::min(std::max($alpha * v + $beta, 0.0f), 1.0f)", .onnx = "HardSigmoid"},
                             {optional_real("alpha", 1.0 / 6, AttrRole::kStatic, "slope between the ends"),
                              optional_real("beta", 0.5, AttrRole::kStatic, "value at zero")}),
                  activation("hard_swish", "x times x / 6 + 1/2, clipped to [0, 1].", 5, SavedValue::kInput,
                             {.preserves_zero = true},
                             {.cpp = "v * std::min(std::max(v / 6 + 0.5f, 0.0f), 1.0f)", .onnx = "HardSwish"})});
}

}  // namespace lanista::graph::ops
