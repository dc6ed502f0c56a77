#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

// An operator of two values of one shape, element by element.
OpDef binary_op(std::string name, std::string help, ValueFacts facts, std::string cpp) {
  OpDef def = named_op(std::move(name), std::move(help), 2);
  def.facts = facts;
  def.facts.units = UnitFlow::kAll;
  def.exports.cpp = std::move(cpp);
  def.infer = infer_all_equal;
  def.cost = elementwise_cost(1);
  return def;
}

OpDef add_op() {
  OpDef def = named_op("add", "The sum of two or more values of one shape.");
  def.facts = keeping(UnitFlow::kAll);
  def.family = OpFamily::kJoin;
  def.min_inputs = 2;
  def.max_inputs = -1;
  def.commutative = true;
  def.infer = infer_all_equal;
  def.cost = [](const OpArgs& args) {
    return cost_of(
        args, static_cast<double>(args.inputs.size() - 1) * static_cast<double>(shape_of(args).elements_per_sample()));
  };
  def.gradient = [](GradientContext& step) {
    for (std::size_t i = 0; i < step.args().inputs.size(); ++i) {
      if (step.needs_grad(i)) step.set_input_grad(i, step.grad());
    }
  };
  return def;
}

OpDef mul_op() {
  OpDef def = binary_op("mul", "The product of two values of one shape, element by element.",
                        {.sign = SignRule::kAsInputs, .preserves_zero = true}, "$a[i] * $b[i]");
  def.family = OpFamily::kJoin;
  def.commutative = true;
  def.gradient = [](GradientContext& step) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (step.needs_grad(i)) step.set_input_grad(i, step.emit("mul", {step.grad(), step.input(1 - i)}));
    }
  };
  return def;
}

OpDef sub_op() {
  OpDef def = binary_op("sub", "The difference of two values of one shape.",
                        {.preserves_zero = true, .preserves_mean = true}, "$a[i] - $b[i]");
  def.gradient = [](GradientContext& step) {
    if (step.needs_grad(0)) step.set_input_grad(0, step.grad());
    if (step.needs_grad(1)) step.set_input_grad(1, step.emit("negative", {step.grad()}));
  };
  return def;
}

OpDef div_op() {
  OpDef def = binary_op("div", "The quotient of two values of one shape, element by element.", {}, "$a[i] / $b[i]");
  // d(a / b) = (da - (a / b) db) / b.
  def.gradient = [](GradientContext& step) {
    const Port share = step.emit("div", {step.grad(), step.input(1)});
    if (step.needs_grad(0)) step.set_input_grad(0, share);
    if (step.needs_grad(1)) {
      step.set_input_grad(1, step.emit("negative", {step.emit("mul", {share, step.output()})}));
    }
  };
  return def;
}

Result<std::vector<ValueType>> infer_concat(const OpArgs& args) {
  const auto axis = static_cast<std::size_t>(args.integer("axis"));
  LANISTA_TRY(require_real(args));
  Shape shape = shape_of(args);
  if (axis >= shape.rank()) {
    return shape_error("axis " + std::to_string(axis) + " of " + shape.text() + " does not exist");
  }
  for (std::size_t i = 1; i < args.inputs.size(); ++i) {
    LANISTA_TRY(require_real(args, i));
    Shape other = shape_of(args, i);
    const bool same_rank = other.rank() == shape.rank();
    const std::int64_t length = same_rank ? other.dims[axis] : 0;
    if (same_rank) other.dims[axis] = shape.dims[axis];
    if (other != shape) {
      return shape_error("inputs must agree in all dimensions but axis " + std::to_string(axis) + ", but input 0 is " +
                         shape_text(args, 0) + " and input " + std::to_string(i) + " is " + shape_text(args, i));
    }
    shape.dims[axis] += length;
  }
  return value(std::move(shape));
}

OpDef concat_op() {
  OpDef def = named_op("concat", "Two or more values side by side along an axis.");
  def.facts = {.units = UnitFlow::kConcat, .sign = SignRule::kAsInputs, .preserves_zero = true};
  def.family = OpFamily::kJoin;
  def.min_inputs = 2;
  def.max_inputs = -1;
  def.attrs = {optional_int("axis", 1, 1, AttrRole::kStatic, "logical axis, not the batch")};
  def.infer = infer_concat;
  def.gradient = [](GradientContext& step) {
    const OpArgs args = step.args();
    const std::int64_t axis = args.integer("axis");
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < args.inputs.size(); ++i) {
      const std::int64_t length = shape_of(args, i).dims[static_cast<std::size_t>(axis)];
      if (step.needs_grad(i)) {
        step.set_input_grad(
            i, step.emit("slice", {step.grad()}, {{"axis", axis}, {"start", begin}, {"end", begin + length}}));
      }
      begin += length;
    }
  };
  return def;
}

}  // namespace

Result<void> add_combine_ops(OpTable& table) {
  return add_all(table, {add_op(), mul_op(), sub_op(), div_op(), concat_op()});
}

}  // namespace lanista::graph::ops
