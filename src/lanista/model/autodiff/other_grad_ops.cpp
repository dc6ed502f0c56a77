#include <utility>

#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

Result<void> add_softmax_and_dropout(graph::OpTable& table) {
  OpDef softmax = grad_of("softmax");
  softmax.help = "Gradient of softmax, from its output.";
  LANISTA_TRY(table.add(std::move(softmax)));

  OpDef dropout = train_form_of("dropout");
  dropout.attrs.push_back(ops::required_int("origin", 0, AttrRole::kStatic, "model node that keys the mask"));
  return table.add(std::move(dropout));
}

Types infer_crop(const OpArgs& args) {
  LANISTA_TRY(ops::require_image(args));
  const auto& pads = args.list("pads");
  Shape shape = ops::shape_of(args);
  if (pads.size() != 4 || pads[0] + pads[1] >= shape.dims[2] || pads[2] + pads[3] >= shape.dims[3]) {
    return ops::shape_error("cannot cut " + graph::attr_text(pads) + " (top, bottom, left, right) off " + shape.text());
  }
  shape.dims[2] -= pads[0] + pads[1];
  shape.dims[3] -= pads[2] + pads[3];
  return ops::value(std::move(shape));
}

// dy may have the reduced dimensions with size 1, or not.
Types infer_mean_grad(const OpArgs& args) {
  LANISTA_TRY(ops::require_real(args));
  const Shape full = ops::batched(args.list("shape"));
  Shape kept = full;
  Shape dropped = full;
  const auto& axes = args.list("axes");
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto position = static_cast<std::size_t>(*axis);
    if (position >= dropped.rank()) {
      return ops::shape_error("axes " + graph::attr_text(axes) + " do not ascend inside " + full.text());
    }
    kept.dims[position] = 1;
    dropped.dims.erase(dropped.dims.begin() + *axis);
  }
  if (ops::shape_of(args) != kept && ops::shape_of(args) != dropped) {
    return ops::shape_error("dy " + ops::shape_text(args) + " is not the mean of " + full.text() + " over axes " +
                            graph::attr_text(axes));
  }
  return ops::value(full);
}

Result<void> add_movement_grads(graph::OpTable& table) {
  OpDef crop = step_op("crop", "Images without their border: the gradient of pad.", 1, infer_crop);
  crop.attrs = {ops::required_list("pads", 0, AttrRole::kStatic, "top, bottom, left, right")};
  LANISTA_TRY(table.add(std::move(crop)));

  OpDef mean = step_op("mean_grad", "Spreads dy over the dimensions that were averaged.", 1, infer_mean_grad);
  mean.attrs = {ops::required_list("axes", 1, AttrRole::kStatic, "averaged logical dimensions, ascending"),
                ops::required_list("shape", 1, AttrRole::kStatic, "shape of the forward input, without the batch")};
  return table.add(std::move(mean));
}

}  // namespace

Result<void> add_other_grad_ops(graph::OpTable& table) {
  LANISTA_TRY(add_softmax_and_dropout(table));
  return add_movement_grads(table);
}

}  // namespace lanista::autodiff
