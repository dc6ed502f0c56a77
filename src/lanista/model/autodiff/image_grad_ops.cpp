#include <utility>

#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

Types infer_slice_grad(const OpArgs& args) {
  const Shape full = ops::batched(args.list("shape"));
  LANISTA_TRY(ops::require_real(args));
  const Shape& dy = ops::shape_of(args);
  const auto axis = static_cast<std::size_t>(args.integer("axis"));
  const std::int64_t start = args.integer("start");
  Shape cut = full;
  if (axis < full.rank() && axis < dy.rank()) cut.dims[axis] = dy.dims[axis];
  if (axis >= full.rank() || dy != cut || start + dy.dims[axis] > full.dims[axis]) {
    return ops::shape_error("dy " + dy.text() + " is no slice of " + full.text() + " along axis " +
                            std::to_string(axis) + " from element " + std::to_string(start));
  }
  return ops::value(full);
}

OpDef slice_grad_op() {
  OpDef def = step_op("slice_grad", "dy among zeros.", 1, infer_slice_grad);
  def.attrs = {ops::required_int("axis", 1, AttrRole::kStatic, "logical axis, not the batch"),
               ops::required_int("start", 0, AttrRole::kStatic, "first element of dy in the result"),
               ops::required_list("shape", 1, AttrRole::kStatic, "shape of the forward input, without the batch")};
  return def;
}

Types infer_gate_grad(const OpArgs& args) {
  LANISTA_TRY(ops::require_same_shapes(args));
  const Shape& shape = ops::shape_of(args);
  if (shape.rank() < 3) return ops::shape_error("x " + shape.text() + " has no positions to sum over");
  return ops::value(ops::batched({shape.dims[ops::channel_dim(shape)]}));
}

OpDef resize_grad_op() {
  OpDef def = step_op("resize_grad", "Sends dy back to the cells it was made of.", 1, ops::infer_of_input_size);
  def.attrs = {ops::input_size(), ops::one_of("mode", {"nearest", "bilinear"}, "as in resize")};
  return def;
}

}  // namespace

OpDef grad_of(const std::string& model_op) {
  OpDef def = train_form_of(model_op);
  def.name = model_op + "_grad";
  def.help = "Gradient of " + model_op + ".";
  def.min_inputs = 2;
  def.max_inputs = 2;
  def.cost = {};
  def.infer = [forward = def.infer](const OpArgs& args) -> Types {
    LANISTA_TRY(ops::require_same_shapes(args));
    return forward(args);
  };
  return def;
}

Result<void> add_image_grad_ops(graph::OpTable& table) {
  LANISTA_TRY(table.add(grad_of("lrn")));
  LANISTA_TRY(table.add(step_op("negative", "Minus its input: a gradient of sub and div.", 1, ops::infer_same)));
  LANISTA_TRY(table.add(slice_grad_op()));
  LANISTA_TRY(table.add(step_op("scale_grad_gate", "Gradient of scale by its gate.", 2, infer_gate_grad)));
  return table.add(resize_grad_op());
}

}  // namespace lanista::autodiff
