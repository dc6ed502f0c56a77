// Operators over the channels of a value.
#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

OpDef scale_op() {
  OpDef def = named_op("scale", "Each channel of [N, C, H, W], or of [N, ..., C], times its gate in [N, C].", 2);
  def.facts = {.units = UnitFlow::kScale, .sign = SignRule::kAsInputs, .preserves_zero = true};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_real(args));
    const Shape& shape = shape_of(args);
    if (shape.rank() < 3)
      return shape_error("input 0 must be [N, C, H, W] or [N, ..., C], but it is " + shape_text(args));
    LANISTA_TRY(require_type(args, 1, {batched({shape.dims[channel_dim(shape)]}), DType::kReal}, "the gate"));
    return value(shape);
  };
  def.cost = elementwise_cost(1);
  def.gradient = [](GradientContext& step) {
    if (step.needs_grad(0)) step.set_input_grad(0, step.emit("scale", {step.grad(), step.input(1)}));
    if (step.needs_grad(1)) step.set_input_grad(1, step.emit("scale_grad_gate", {step.input(0), step.grad()}));
  };
  return def;
}

OpDef channel_shuffle_op() {
  OpDef def = named_op("channel_shuffle",
                       "Channels of an image dealt out anew: channel g C / groups + i goes to i groups + g.");
  def.facts = keeping(UnitFlow::kShuffle);
  def.attrs = {required_int("groups", 1, AttrRole::kTunable, "groups of neighbouring channels")};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_image(args));
    const std::int64_t channels = shape_of(args).dims[1], groups = args.integer("groups");
    if (channels % groups != 0) {
      return shape_error(std::to_string(groups) + " groups do not divide " + std::to_string(channels) + " channels");
    }
    return value(shape_of(args));
  };
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    const OpArgs args = step.args();
    const Attrs inverse{{"groups", shape_of(args).dims[1] / args.integer("groups")}};
    step.set_input_grad(0, step.emit("channel_shuffle", {step.grad()}, inverse));
  };
  return def;
}

Result<std::vector<ValueType>> infer_lrn(const OpArgs& args) {
  LANISTA_TRY(require_image(args));
  constexpr std::int64_t kMaxSize = 1 << 20;
  if (args.integer("size") % 2 == 0) {  // PyTorch and ONNX place an even window differently
    return shape_error("size " + std::to_string(args.integer("size")) +
                       " is even, so that no channel is in the middle");
  }
  if (args.integer("size") > kMaxSize) {
    return shape_error("size " + std::to_string(args.integer("size")) + " is above " + std::to_string(kMaxSize));
  }
  const double alpha = args.real("alpha"), beta = args.real("beta"), bias = args.real("bias");
  if (!(alpha >= 0 && alpha <= 1e6)) return shape_error("alpha must lie in [0, 1e6], but it is " + attr_text(alpha));
  if (!(beta >= 0 && beta <= 100)) return shape_error("beta must lie in [0, 100], but it is " + attr_text(beta));
  if (!(bias >= 1e-6 && bias <= 1e6)) return shape_error("bias must lie in [1e-6, 1e6], but it is " + attr_text(bias));
  return value(shape_of(args));
}

// Krizhevsky, Sutskever, Hinton (2012), section 3.3; windows and the division by their size as in ONNX.
OpDef lrn_op() {
  OpDef def =
      named_op("lrn", "x / (bias + alpha / size times the squares of `size` neighbouring channels, summed) ^ beta.");
  def.facts = {.units = UnitFlow::kAll, .preserves_zero = true};
  def.attrs = {required_int("size", 1, AttrRole::kTunable, "channels of a window, an odd number"),
               optional_real("alpha", 1e-4, AttrRole::kStatic, "weight of the mean square"),
               optional_real("beta", 0.75, AttrRole::kStatic, "exponent"),
               optional_real("bias", 1, AttrRole::kStatic, "added to the weighted mean square")};
  def.infer = infer_lrn;
  def.cost = [](const OpArgs& args) {
    const double per_element = 20 + 2 * static_cast<double>(args.integer("size"));
    return cost_of(args, per_element * static_cast<double>(shape_of(args).elements_per_sample()));
  };
  def.gradient = [](GradientContext& step) {
    if (step.needs_grad(0)) {
      step.set_input_grad(0, step.emit("lrn_grad", {step.input(0), step.grad()}, step.args().attrs));
    }
  };
  return def;
}

}  // namespace

Result<void> add_channel_ops(OpTable& table) { return add_all(table, {scale_op(), channel_shuffle_op(), lrn_op()}); }

}  // namespace lanista::graph::ops
