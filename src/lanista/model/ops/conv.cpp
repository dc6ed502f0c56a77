#include <utility>

#include "lanista/model/ops/op_rules.h"
#include "lanista/model/ops/window.h"

namespace lanista::graph::ops {
namespace {

Result<ConvDims> conv_dims_of(const OpArgs& args, std::int64_t out, std::int64_t groups) {
  LANISTA_TRY(require_image(args));
  return conv_dims(args, without_batch(shape_of(args)), out, groups);
}

std::int64_t channels(const OpArgs& args) { return shape_of(args).dims[1]; }

ParamSpec trained(std::string name, std::vector<std::int64_t> dims, std::int64_t fan_in) {
  return {std::move(name), unbatched(std::move(dims)), true, Init::kUniformFanIn, fan_in};
}

// Returns the output type of a convolution after its parameters are checked.
using DimsOf = Result<ConvDims> (*)(const OpArgs&);

// The weight of a convolution, and a bias for each of the `results`.
std::vector<ParamSpec> window_params(const OpArgs& args, const ConvDims& dims, std::int64_t results) {
  std::vector<ParamSpec> params{trained("weight", dims.weight().dims, dims.fan_in())};
  if (args.flag("bias")) params.push_back(trained("bias", {results}, dims.fan_in()));
  return params;
}

void plain_rules(OpDef& def, DimsOf dims_rule) {
  def.infer = [dims_rule](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(const ConvDims dims, dims_rule(args));
    LANISTA_TRY(require_valid_params(window_params(args, dims, dims.out)));
    return value(dims.output());
  };
  def.params = [dims_rule](const OpArgs& args) {
    const ConvDims dims = *dims_rule(args);
    return window_params(args, dims, dims.out);
  };
  def.cost = [dims_rule](const OpArgs& args) { return cost_of(args, (*dims_rule(args)).flops()); };
}

void conv2d_gradient(GradientContext& step) {
  const OpArgs args = step.args();
  const Attrs conv = selected_attrs(args.attrs, {"out", "kernel", "stride", "padding", "dilation", "groups"});
  if (step.needs_grad(0)) {
    Attrs attrs = conv;
    attrs.set("input_size", without_batch(shape_of(args)));
    step.set_input_grad(0, step.emit("conv2d_grad_x", {step.grad(), step.param("weight")}, std::move(attrs)));
  }
  step.set_param_grad("weight", step.emit("conv2d_grad_w", {step.input(0), step.grad()}, conv));
  if (args.flag("bias")) step.set_param_grad("bias", step.emit("channel_sum", {step.grad()}));
}

OpDef conv2d_op() {
  OpDef def = named_op("conv2d", "Slides a trained window over images.");
  def.facts.mixes = MixedAxis::kChannels;
  def.family = OpFamily::kLayer;
  def.attrs = window_attrs();
  def.attrs.insert(def.attrs.begin(), required_int("out", 1, AttrRole::kTunable, "channels that come out"));
  def.attrs.push_back(optional_int("groups", 1, 1, AttrRole::kTunable, "channel groups that do not see each other"));
  def.attrs.push_back(optional_flag("bias", true, "add a trained offset per channel"));
  def.attrs.push_back(derived("in", "channels that come in"));
  plain_rules(def, [](const OpArgs& args) { return conv_dims_of(args, args.integer("out"), args.integer("groups")); });
  def.gradient = conv2d_gradient;
  return def;
}

Result<ConvDims> depthwise_dims(const OpArgs& args) {
  LANISTA_TRY(require_image(args));
  const std::int64_t in = channels(args);
  if (args.integer("multiplier") > kMaxValueElements / in) {
    return shape_error("multiplier " + std::to_string(args.integer("multiplier")) + " times " + std::to_string(in) +
                       " channels is too many");
  }
  return conv_dims_of(args, in * args.integer("multiplier"), in);
}

Port depthwise_parts(StepContext& step) {
  const OpArgs args = step.args();
  const std::int64_t in = channels(args);
  Attrs attrs = selected_attrs(args.attrs, {"kernel", "stride", "padding", "dilation", "bias"});
  attrs.set("out", in * args.integer("multiplier"));
  attrs.set("groups", in);
  std::vector<Port> inputs{step.input(0), step.param("weight")};
  if (args.flag("bias")) inputs.push_back(step.param("bias"));
  return step.emit("conv2d", std::move(inputs), std::move(attrs));
}

OpDef depthwise_op() {
  OpDef def = named_op("depthwise_conv2d", "Slides one trained window over each channel alone.");
  def.facts.units = UnitFlow::kDepthwise;
  def.family = OpFamily::kLayer;
  def.size_flow = SizeFlow::kChannels;
  def.attrs = window_attrs();
  def.attrs.push_back(optional_int("multiplier", 1, 1, AttrRole::kTunable, "results per input channel"));
  def.attrs.push_back(optional_flag("bias", true, "add a trained offset per channel"));
  def.attrs.push_back(derived("in", "channels that come in"));
  plain_rules(def, depthwise_dims);
  def.decompose = depthwise_parts;
  return def;
}

// A separable convolution: the depthwise part has the window, the pointwise part mixes the channels.
struct SeparableDims {
  ConvDims depthwise;
  std::int64_t out;

  Shape output() const { return {{kBatch, out, depthwise.oh, depthwise.ow}}; }
};

Result<SeparableDims> separable_dims(const OpArgs& args) {
  LANISTA_TRY(require_image(args));
  LANISTA_ASSIGN(const ConvDims depthwise, conv_dims_of(args, channels(args), channels(args)));
  return SeparableDims{depthwise, args.integer("out")};
}

std::vector<ParamSpec> separable_params(const OpArgs& args) {
  const SeparableDims dims = *separable_dims(args);
  const std::int64_t in = dims.depthwise.in;
  std::vector<ParamSpec> params{trained("depthwise.weight", dims.depthwise.weight().dims, dims.depthwise.fan_in()),
                                trained("pointwise.weight", {dims.out, in, 1, 1}, in)};
  if (args.flag("bias")) params.push_back(trained("pointwise.bias", {dims.out}, in));
  return params;
}

Port separable_parts(StepContext& step) {
  const OpArgs args = step.args();
  const std::int64_t in = channels(args);
  Attrs depthwise = selected_attrs(args.attrs, {"kernel", "stride", "padding", "dilation"});
  depthwise.set("out", in);
  depthwise.set("groups", in);
  depthwise.set("bias", false);
  const Port middle = step.emit("conv2d", {step.input(0), step.param("depthwise.weight")}, std::move(depthwise));
  Attrs pointwise = selected_attrs(args.attrs, {"out", "bias"});
  pointwise.set("kernel", std::vector<std::int64_t>{1});
  std::vector<Port> inputs{middle, step.param("pointwise.weight")};
  if (args.flag("bias")) inputs.push_back(step.param("pointwise.bias"));
  return step.emit("conv2d", std::move(inputs), std::move(pointwise));
}

OpDef separable_op() {
  OpDef def = named_op("separable_conv2d", "A depthwise convolution, then a 1x1 convolution over the channels.");
  def.facts.mixes = MixedAxis::kChannels;
  def.family = OpFamily::kLayer;
  def.attrs = window_attrs();
  def.attrs.insert(def.attrs.begin(), required_int("out", 1, AttrRole::kTunable, "channels that come out"));
  def.attrs.push_back(optional_flag("bias", true, "add a trained offset per channel"));
  def.attrs.push_back(derived("in", "channels that come in"));
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(const SeparableDims dims, separable_dims(args));
    LANISTA_TRY(require_valid_params(separable_params(args)));
    LANISTA_TRY(value(dims.depthwise.output()));
    return value(dims.output());
  };
  def.params = separable_params;
  def.cost = [](const OpArgs& args) {
    const SeparableDims dims = *separable_dims(args);
    const double cells = static_cast<double>(dims.output().elements_per_sample());
    return cost_of(args, dims.depthwise.flops() + 2 * cells * static_cast<double>(dims.depthwise.in));
  };
  def.decompose = separable_parts;
  return def;
}

std::vector<ParamSpec> transposed_params(const OpArgs& args) {
  const ConvDims dims = *transposed_dims(args);
  return window_params(args, dims, dims.in);
}

// A transposed convolution is the input gradient of a convolution. Its gradients are the other two rules of that
// convolution.
OpDef transposed_op() {
  OpDef def =
      named_op("conv_transpose2d", "Writes a trained window for each cell of images, summed where windows meet.");
  def.attrs = window_attrs();
  def.attrs.insert(def.attrs.begin(), required_int("out", 1, AttrRole::kTunable, "channels that come out"));
  def.attrs.push_back(optional_list("output_padding", {0}, 0, AttrRole::kStatic,
                                    "rows and columns behind the last window, fewer than the stride"));
  def.attrs.push_back(optional_int("groups", 1, 1, AttrRole::kTunable, "channel groups that do not see each other"));
  def.attrs.push_back(optional_flag("bias", true, "add a trained offset per channel"));
  def.attrs.push_back(derived("in", "channels that come in"));
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(const ConvDims dims, transposed_dims(args));
    LANISTA_TRY(require_valid_params(transposed_params(args)));
    return value(dims.input());
  };
  def.params = transposed_params;
  def.cost = [](const OpArgs& args) { return cost_of(args, transposed_dims(args)->flops()); };
  def.gradient = [](GradientContext& step) {
    const OpArgs args = step.args();
    Attrs conv = selected_attrs(args.attrs, {"kernel", "stride", "padding", "dilation", "groups"});
    conv.set("out", channels(args));
    step.set_param_grad("weight", step.emit("conv2d_grad_w", {step.grad(), step.input(0)}, conv));
    if (args.flag("bias")) step.set_param_grad("bias", step.emit("channel_sum", {step.grad()}));
    if (!step.needs_grad(0)) return;
    conv.set("bias", false);
    step.set_input_grad(0, step.emit("conv2d", {step.grad(), step.param("weight")}, std::move(conv)));
  };
  return def;
}

}  // namespace

Result<void> add_conv_ops(OpTable& table) {
  return add_all(table, {conv2d_op(), depthwise_op(), separable_op(), transposed_op()});
}

}  // namespace lanista::graph::ops
