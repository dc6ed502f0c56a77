#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

std::vector<ParamSpec> affine_params(const OpArgs& args, std::vector<std::int64_t> dims) {
  if (!args.flag("affine")) return {};
  return {{"weight", unbatched(dims), true, Init::kOnes, 0}, {"bias", unbatched(dims), true, Init::kZeros, 0}};
}

Result<void> require_eps(const OpArgs& args) {
  const double eps = args.real("eps");
  if (eps > 0 && eps <= 1) return {};
  return shape_error("eps must lie in (0, 1], but it is " + attr_text(eps));
}

Result<void> require_channels(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  if (shape_of(args).rank() == 2 || shape_of(args).rank() == 4) return {};
  return shape_error("input must be [N, C] or [N, C, H, W], but it is " + shape_text(args));
}

// Every `<norm>_grad` reads x, the two statistics, dy and the weight, if there is one.
std::function<void(GradientContext&)> norm_gradient(std::string op, std::initializer_list<std::string_view> attrs) {
  return [op = std::move(op), names = std::vector<std::string_view>(attrs)](GradientContext& step) {
    const OpArgs args = step.args();
    const bool affine = args.flag("affine");
    if (!affine && !step.needs_grad(0)) return;
    std::vector<Port> inputs{step.input(0), step.output(1), step.output(2), step.grad()};
    if (affine) inputs.push_back(step.param("weight"));
    const Port dx = step.emit(op, std::move(inputs), selected_attrs(args.attrs, names));
    if (step.needs_grad(0)) step.set_input_grad(0, dx);
    if (!affine) return;
    step.set_param_grad("weight", Port{dx.node, 1});
    step.set_param_grad("bias", Port{dx.node, 2});
  };
}

OpDef norm_op(std::string name, std::string help) {
  OpDef def = named_op(std::move(name), std::move(help));
  def.facts.units = UnitFlow::kAll;
  def.attrs = {optional_real("eps", 1e-5, AttrRole::kStatic, "added to the variance"),
               optional_flag("affine", true, "scale and shift by trained vectors"),
               derived("features", "values that share a weight")};
  def.train_form = def.name + "_train";
  def.family = OpFamily::kNorm;
  return def;
}

Result<std::vector<ValueType>> infer_batch_norm(const OpArgs& args) {
  LANISTA_TRY(require_channels(args));
  LANISTA_TRY(require_eps(args));
  const double momentum = args.real("momentum");
  if (!(momentum >= 0 && momentum <= 1)) {
    return shape_error("momentum must lie in [0, 1], but it is " + attr_text(momentum));
  }
  return value(shape_of(args));
}

OpDef batch_norm_op() {
  OpDef def = norm_op("batch_norm", "Normalises each channel over the batch; over running statistics in inference.");
  def.attrs.push_back(optional_real("momentum", 0.1, AttrRole::kStatic, "share of a batch in the running statistics"));
  def.attrs.back().per_lane = true;
  def.infer = infer_batch_norm;
  def.size_flow = SizeFlow::kAny;
  def.params = [](const OpArgs& args) {
    const std::int64_t channels = shape_of(args).dims[1];
    std::vector<ParamSpec> params = affine_params(args, {channels});
    params.push_back({"running_mean", unbatched({channels}), false, Init::kZeros, 0});
    params.push_back({"running_var", unbatched({channels}), false, Init::kOnes, 0});
    return params;
  };
  def.cost = elementwise_cost(2);  // folded: one scale, one shift
  def.gradient = norm_gradient("batch_norm_grad", {"eps"});
  def.buffer_updates = {{"running_mean", 3}, {"running_var", 4}};
  return def;
}

Result<std::vector<ValueType>> infer_layer_norm(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  LANISTA_TRY(require_eps(args));
  const auto rank = static_cast<std::int64_t>(shape_of(args).rank());
  const std::int64_t axes = args.integer("axes");
  if (axes >= rank) {
    return shape_error("cannot normalise the last " + std::to_string(axes) + " dimensions of " + shape_text(args) +
                       " without the batch");
  }
  if (rank == 4 && axes != 3) {
    return shape_error("images " + shape_text(args) + " are normalised over axes=3, not axes=" + std::to_string(axes));
  }
  return value(shape_of(args));
}

OpDef layer_norm_op() {
  OpDef def = norm_op("layer_norm", "Normalises the last dimensions of each sample.");
  def.attrs.push_back(optional_int("axes", 1, 1, AttrRole::kStatic, "how many of the last dimensions"));
  def.infer = infer_layer_norm;
  def.size_flow = SizeFlow::kAny;
  def.params = [](const OpArgs& args) {
    const auto& dims = shape_of(args).dims;
    return affine_params(args, {dims.end() - args.integer("axes"), dims.end()});
  };
  def.cost = elementwise_cost(8);
  def.gradient = norm_gradient("layer_norm_grad", {"axes"});
  return def;
}

Result<std::vector<ValueType>> infer_group_norm(const OpArgs& args) {
  LANISTA_TRY(require_channels(args));
  LANISTA_TRY(require_eps(args));
  const std::int64_t channels = shape_of(args).dims[1];
  if (channels % args.integer("groups") != 0) {
    return shape_error(std::to_string(args.integer("groups")) + " groups do not divide " + std::to_string(channels) +
                       " channels");
  }
  return value(shape_of(args));
}

OpDef group_norm_op() {
  OpDef def = norm_op("group_norm", "Normalises groups of channels of each sample.");
  def.attrs.push_back(required_int("groups", 1, AttrRole::kTunable, "groups of neighbouring channels"));
  def.infer = infer_group_norm;
  def.params = [](const OpArgs& args) { return affine_params(args, {shape_of(args).dims[1]}); };
  def.cost = elementwise_cost(8);
  def.gradient = norm_gradient("group_norm_grad", {"groups"});
  return def;
}

}  // namespace

Result<void> add_norm_ops(OpTable& table) {
  return add_all(table, {batch_norm_op(), layer_norm_op(), group_norm_op()});
}

}  // namespace lanista::graph::ops
