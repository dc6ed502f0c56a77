#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

// Shapes of the statistics that a normalisation saves for its gradient, and of its weight.
struct NormShapes {
  Shape statistics, weight;
};

NormShapes batch_norm_shapes(const OpArgs& args) {
  const Shape channels = ops::unbatched({ops::shape_of(args).dims[1]});
  return {channels, channels};
}

NormShapes layer_norm_shapes(const OpArgs& args) {
  const auto& dims = ops::shape_of(args).dims;
  const auto first = dims.end() - args.integer("axes");
  return {Shape{{dims.begin(), first}}, Shape{{first, dims.end()}}};
}

NormShapes group_norm_shapes(const OpArgs& args) {
  return {ops::batched({args.integer("groups")}), ops::unbatched({ops::shape_of(args).dims[1]})};
}

using ShapesOf = NormShapes (*)(const OpArgs&);

OpDef train_op(std::string_view model_op, ShapesOf shapes_of, bool running) {
  OpDef def = train_form_of(model_op);
  def.infer = [forward = def.infer, shapes_of, running](const OpArgs& args) -> Types {
    LANISTA_ASSIGN(std::vector<ValueType> types, forward(args));
    const ValueType statistics{shapes_of(args).statistics, DType::kReal};
    types.insert(types.end(), running ? 4 : 2, statistics);
    return ops::values(std::move(types));
  };
  return def;
}

// The rule of the forward operator checks x and the attributes. The other inputs must fit x.
OpDef grad_op(std::string_view model_op, ShapesOf shapes_of) {
  OpDef def = train_form_of(model_op);
  def.name = std::string(model_op) + "_grad";
  def.help = "Gradients of " + std::string(model_op) + " by input, weight and bias.";
  def.params = {};
  def.cost = {};
  def.min_inputs = 4;
  def.max_inputs = 5;
  def.infer = [forward = def.infer, shapes_of](const OpArgs& args) -> Types {
    LANISTA_TRY(forward(args));
    const NormShapes shapes = shapes_of(args);
    LANISTA_TRY(ops::require_type(args, 1, {shapes.statistics, DType::kReal}, "the mean"));
    LANISTA_TRY(ops::require_type(args, 2, {shapes.statistics, DType::kReal}, "the inverse deviation"));
    LANISTA_TRY(ops::require_type(args, 3, args.inputs[0], "dy"));
    const ValueType weight{shapes.weight, DType::kReal};
    if (args.inputs.size() == 5) LANISTA_TRY(ops::require_type(args, 4, weight, "the weight"));
    return ops::values({args.inputs[0], weight, weight});
  };
  return def;
}

}  // namespace

OpDef train_form_of(std::string_view model_op) {
  static const graph::OpTable shipped = graph::builtin_ops();
  const OpDef* found = shipped.find(model_op);
  LANISTA_CHECK(found != nullptr, "no shipped operator " + std::string(model_op));
  OpDef def = *found;
  def.name += "_train";
  def.level = graph::OpLevel::kStep;
  def.train_form.clear();
  def.decompose = {};
  def.gradient = {};
  def.buffer_updates.clear();
  def.is_view = false;
  def.step_ops.clear();
  return def;
}

Result<void> add_norm_train_ops(graph::OpTable& table) {
  LANISTA_TRY(table.add(train_op("batch_norm", batch_norm_shapes, true)));
  LANISTA_TRY(table.add(train_op("layer_norm", layer_norm_shapes, false)));
  LANISTA_TRY(table.add(train_op("group_norm", group_norm_shapes, false)));
  LANISTA_TRY(table.add(grad_op("batch_norm", batch_norm_shapes)));
  LANISTA_TRY(table.add(grad_op("layer_norm", layer_norm_shapes)));
  return table.add(grad_op("group_norm", group_norm_shapes));
}

}  // namespace lanista::autodiff
