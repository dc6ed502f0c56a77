#include <utility>

#include "lanista/model/autodiff/step_ops.h"
#include "lanista/model/ops/window.h"

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

Types infer_max_pool_grad(const OpArgs& args) {
  LANISTA_ASSIGN(const ops::PoolDims dims, ops::pool_dims(args, args.list("input_size")));
  LANISTA_TRY(ops::require_type(args, 0, {dims.output(), DType::kByte}, "the window index"));
  LANISTA_TRY(ops::require_type(args, 1, {dims.output(), DType::kReal}, "dy"));
  return ops::value(dims.input());
}

Types infer_avg_pool_grad(const OpArgs& args) {
  LANISTA_ASSIGN(const ops::PoolDims dims, ops::pool_dims(args, args.list("input_size")));
  LANISTA_TRY(ops::require_type(args, 0, {dims.output(), DType::kReal}, "dy"));
  return ops::value(dims.input());
}

Result<void> add_pool_grads(graph::OpTable& table) {
  OpDef max_train = train_form_of("max_pool2d");
  max_train.infer = [forward = max_train.infer](const OpArgs& args) -> Types {
    LANISTA_ASSIGN(std::vector<ValueType> types, forward(args));
    types.push_back({types.front().shape, DType::kByte});
    return types;
  };
  LANISTA_TRY(table.add(std::move(max_train)));

  OpDef max_grad = step_op("max_pool2d_grad", "Sends dy to the winner of each window.", 2, infer_max_pool_grad);
  max_grad.attrs = ops::pool_attrs();
  max_grad.attrs.push_back(input_size());
  LANISTA_TRY(table.add(std::move(max_grad)));

  OpDef avg_grad = step_op("avg_pool2d_grad", "Spreads dy over each window.", 1, infer_avg_pool_grad);
  avg_grad.attrs = ops::pool_attrs();
  avg_grad.attrs.push_back(ops::optional_flag("count_include_pad", true, "as in avg_pool2d"));
  avg_grad.attrs.push_back(input_size());
  LANISTA_TRY(table.add(std::move(avg_grad)));

  OpDef adaptive = step_op("adaptive_avg_pool2d_grad", "Spreads dy over each adaptive window.", 1, infer_of_input_size);
  adaptive.attrs = {input_size()};
  return table.add(std::move(adaptive));
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
  LANISTA_TRY(add_pool_grads(table));
  return add_movement_grads(table);
}

}  // namespace lanista::autodiff
