#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

OpDef identity_op() {
  OpDef def = named_op("identity", "Its input, unchanged.");
  def.facts = keeping(UnitFlow::kAll);
  def.family = OpFamily::kActivation;
  def.size_flow = SizeFlow::kAny;
  def.is_view = true;
  def.infer = infer_same;
  def.gradient = [](GradientContext& step) { step.set_input_grad(0, step.grad()); };
  return def;
}

OpDef zero_op() {
  OpDef def = named_op("zero", "Zeros in the shape of its input; no gradient passes.");
  def.facts = keeping(UnitFlow::kAll);
  def.facts.sign = SignRule::kNeverNegative;
  def.infer = infer_same;
  return def;
}

Result<std::vector<ValueType>> infer_softmax(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  const auto rank = static_cast<std::int64_t>(shape_of(args).rank());
  const std::int64_t axis = args.integer("axis");
  const std::int64_t logical = axis < 0 ? axis + rank : axis;
  if (logical < 1 || logical >= rank) {
    return shape_error("axis " + std::to_string(axis) + " of " + shape_text(args) + " does not exist or is the batch");
  }
  return value(shape_of(args));
}

OpDef softmax_op() {
  OpDef def = named_op("softmax", "Exponentials along an axis, scaled to sum one.");
  def.facts = {.units = UnitFlow::kAll, .sign = SignRule::kNeverNegative};
  def.attrs = {optional_int("axis", -1, -8, AttrRole::kStatic, "logical axis, negative from the end; not the batch")};
  def.infer = infer_softmax;
  def.cost = elementwise_cost(5);
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    step.set_input_grad(
        0, step.emit("softmax_grad", {step.output(), step.grad()}, selected_attrs(step.args().attrs, {"axis"})));
  };
  return def;
}

OpDef dropout_op() {
  OpDef def =
      named_op("dropout", "In training, zeroes elements with probability p and scales the others by 1 / (1 - p).");
  def.facts = keeping(UnitFlow::kAll);
  def.random = true;
  def.is_view = true;
  def.size_flow = SizeFlow::kAny;
  def.attrs = {optional_real("p", 0.5, AttrRole::kTunable, "probability of zero, in [0, 1)")};
  def.attrs[0].per_lane = true;
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    const double p = args.real("p");
    if (!(p >= 0 && p < 1)) return shape_error("p must lie in [0, 1), but it is " + attr_text(p));
    return infer_same(args);
  };
  def.train_form = "dropout_train";
  // The mask depends on its key alone, so the gradient is the same operation on dy.
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    Attrs attrs = selected_attrs(step.args().attrs, {"p"});
    attrs.set("origin", static_cast<std::int64_t>(step.origin().value));
    step.set_input_grad(0, step.emit("dropout_train", {step.grad()}, std::move(attrs)));
  };
  return def;
}

/// An elementary function, which is no activation between layers.
OpDef function(std::string name, std::string help, double flops, SavedValue saved, ValueFacts facts,
               ExportForms exports) {
  OpDef def = activation(std::move(name), std::move(help), flops, saved, facts, std::move(exports));
  def.family = OpFamily::kOther;
  def.size_flow = SizeFlow::kUnknown;
  return def;
}

OpDef shift_by_op() {
  OpDef def = named_op("shift_by", "Its input plus a constant.");
  def.facts = {.units = UnitFlow::kAll, .preserves_mean = true};
  def.exports.cpp = "v + $by";
  def.attrs = {optional_real("by", 0, AttrRole::kStatic, "the constant")};
  def.infer = infer_same;
  def.cost = elementwise_cost(1);
  // The exponential of zero is exactly one.
  def.decompose = [](StepContext& step) {
    const Port ones = step.emit("exp", {step.emit("zero", {step.input(0)})});
    const Port constant = step.emit("scale_by", {ones}, {{"by", step.args().real("by")}});
    return step.emit("add", {step.input(0), constant});
  };
  return def;
}

}  // namespace

Result<void> add_activation_ops(OpTable& table) {
  constexpr ValueFacts kZero{.preserves_zero = true}, kOdd{.sign = SignRule::kAsInputs, .preserves_zero = true};
  constexpr ValueFacts kRectifier{.sign = SignRule::kNeverNegative, .preserves_zero = true, .keeps_nonnegative = true};
  // Operations per element are nominal: an exponential counts as eight.
  return add_all(
      table,
      {activation("relu", "max(x, 0).", 1, SavedValue::kOutput, kRectifier,
                  {.cpp = "$x[i] <= 0 ? 0.0f : $x[i]", .onnx = "Relu"}),
       activation("gelu", "Gaussian error linear unit, tanh form.", 14, SavedValue::kInput, kZero,
                  {.cpp = "$x[i] / (1 + std::exp(-1.59576912f * $x[i] * (1 + 0.044715f * $x[i] * $x[i])))"}),
       activation("silu", "x times the logistic function of x.", 11, SavedValue::kInput, kZero,
                  {.cpp = "$x[i] / (1 + std::exp(-$x[i]))"}),
       activation("tanh", "Hyperbolic tangent.", 10, SavedValue::kOutput, kOdd,
                  {.cpp = "std::tanh($x[i])", .onnx = "Tanh"}),
       activation("sigmoid", "Logistic function.", 10, SavedValue::kOutput, {.sign = SignRule::kNeverNegative},
                  {.cpp = "1 / (1 + std::exp(-$x[i]))", .onnx = "Sigmoid"}),
       activation("softsign", "x / (1 + |x|).", 3, SavedValue::kInput, kOdd,
                  {.cpp = "$x[i] / (1 + std::fabs($x[i]))", .onnx = "Softsign"}),
       activation("gelu_erf", "Gaussian error linear unit: x times the normal distribution function of x.", 30,
                  SavedValue::kInput, kZero, {.cpp = "0.5f * $x[i] * std::erfc(-0.70710678f * $x[i])"}),
       activation("softplus", "log(1 + exp(x)), without overflow.", 18, SavedValue::kInput,
                  {.sign = SignRule::kNeverNegative},
                  {.cpp = "std::max($x[i], 0.0f) + std::log1p(std::exp(-std::fabs($x[i])))", .onnx = "Softplus"}),
       function("exp", "Exponential function.", 8, SavedValue::kOutput, {.sign = SignRule::kNeverNegative},
                {.cpp = "std::exp($x[i])", .onnx = "Exp"}),
       function("log", "Natural logarithm; minus infinity at zero, NaN below.", 8, SavedValue::kInput, {},
                {.cpp = "std::log($x[i])", .onnx = "Log"}),
       function("sqrt", "Square root; NaN below zero.", 4, SavedValue::kOutput,
                {.sign = SignRule::kNeverNegative, .preserves_zero = true},
                {.cpp = "std::sqrt($x[i])", .onnx = "Sqrt"}),
       identity_op(), zero_op(), softmax_op(), dropout_op(), shift_by_op()});
}

}  // namespace lanista::graph::ops
