#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

std::vector<ParamSpec> linear_params(const OpArgs& args) {
  const std::int64_t in = shape_of(args).dims.back();
  const std::int64_t out = args.integer("out");
  std::vector<ParamSpec> params{{"weight", unbatched({out, in}), true, Init::kUniformFanIn, in}};
  if (args.flag("bias")) params.push_back({"bias", unbatched({out}), true, Init::kUniformFanIn, in});
  return params;
}

Result<std::vector<ValueType>> infer_linear(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  Shape shape = shape_of(args);
  // Images are channels-last in memory, so their last logical dimension is no row of features.
  if (shape.rank() < 2 || shape.rank() == 4) {
    return shape_error("input must be [N, features] or [N, rows, features], but it is " + shape.text() +
                       (shape.rank() == 4 ? "; flatten images first" : ""));
  }
  LANISTA_TRY(require_valid_params(linear_params(args)));
  shape.dims.back() = args.integer("out");
  return value(std::move(shape));
}

void linear_gradient(GradientContext& step) {
  if (step.needs_grad(0)) {
    step.set_input_grad(0, step.emit("linear_grad_x", {step.grad(), step.param("weight")}));
  }
  step.set_param_grad("weight", step.emit("linear_grad_w", {step.input(0), step.grad()}));
  if (step.args().flag("bias")) step.set_param_grad("bias", step.emit("channel_sum", {step.grad()}));
}

OpDef linear_op() {
  OpDef def = named_op("linear", "Multiplies the last dimension by a matrix and adds a bias.");
  def.facts.mixes = MixedAxis::kLast;
  def.family = OpFamily::kLayer;
  def.is_linear = true;
  def.attrs = {required_int("out", 1, AttrRole::kTunable, "features that come out"),
               optional_flag("bias", true, "add a trained offset"), derived("in", "features that come in")};
  def.infer = infer_linear;
  def.params = linear_params;
  def.cost = [](const OpArgs& args) {
    const double rows = static_cast<double>(shape_of(args).elements_per_sample());
    return cost_of(args, 2 * rows * static_cast<double>(args.integer("out")));
  };
  def.gradient = linear_gradient;
  return def;
}

// Rows, columns and reduced length of op(a) op(b).
struct MatmulDims {
  std::int64_t m, n, k_left, k_right;
};

MatmulDims matmul_dims(const OpArgs& args) {
  const auto& a = shape_of(args, 0).dims;
  const auto& b = shape_of(args, 1).dims;
  const bool ta = args.flag("transpose_a");
  const bool tb = args.flag("transpose_b");
  const auto row = [](const auto& dims) { return dims[dims.size() - 2]; };
  return {.m = ta ? a.back() : row(a),
          .n = tb ? row(b) : b.back(),
          .k_left = ta ? row(a) : a.back(),
          .k_right = tb ? b.back() : row(b)};
}

Result<std::vector<ValueType>> infer_matmul(const OpArgs& args) {
  LANISTA_TRY(require_real(args, 0));
  LANISTA_TRY(require_real(args, 1));
  Shape shape = shape_of(args, 0);
  const Shape& other = shape_of(args, 1);
  const std::string both = shape.text() + " and " + other.text();
  if (shape.rank() < 3 || shape.rank() != other.rank()) {
    return shape_error("inputs must have equal rank of at least 3 (batch included), but they are " + both);
  }
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i) {
    if (shape.dims[i] != other.dims[i]) return shape_error("all dimensions but the last two must agree in " + both);
  }
  const MatmulDims dims = matmul_dims(args);
  if (dims.k_left != dims.k_right) {
    return shape_error("cannot multiply " + both + ": " + std::to_string(dims.k_left) + " columns meet " +
                       std::to_string(dims.k_right) + " rows");
  }
  shape.dims[shape.rank() - 2] = dims.m;
  shape.dims.back() = dims.n;
  return value(std::move(shape));
}

// With y = A B, A = op(a), B = op(b): dA = dy B^T and dB = A^T dy; a transposed input has the transposed gradient.
void matmul_gradient(GradientContext& step) {
  const bool ta = step.args().flag("transpose_a");
  const bool tb = step.args().flag("transpose_b");
  const Port a = step.input(0);
  const Port b = step.input(1);
  const Port dy = step.grad();
  const auto product = [&](Port left, Port right, bool transpose_left, bool transpose_right) {
    return step.emit("matmul", {left, right}, {{"transpose_a", transpose_left}, {"transpose_b", transpose_right}});
  };
  if (step.needs_grad(0)) step.set_input_grad(0, ta ? product(b, dy, tb, true) : product(dy, b, false, !tb));
  if (step.needs_grad(1)) step.set_input_grad(1, tb ? product(dy, a, true, ta) : product(a, dy, !ta, false));
}

OpDef matmul_op() {
  OpDef def = named_op("matmul", "Multiplies matrices in the last two dimensions of two values, sample by sample.", 2);
  def.attrs = {optional_flag("transpose_a", false, "transpose the last two dimensions of the first input"),
               optional_flag("transpose_b", false, "transpose the last two dimensions of the second input")};
  def.infer = infer_matmul;
  def.cost = [](const OpArgs& args) {
    const MatmulDims dims = matmul_dims(args);
    const double left = static_cast<double>(shape_of(args, 0).elements_per_sample());
    return cost_of(args, 2 * left * static_cast<double>(dims.n));
  };
  def.gradient = matmul_gradient;
  return def;
}

}  // namespace

Result<void> add_linear_ops(OpTable& table) { return add_all(table, {linear_op(), matmul_op()}); }

}  // namespace lanista::graph::ops
