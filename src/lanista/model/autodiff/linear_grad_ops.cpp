#include <utility>

#include "lanista/model/autodiff/step_ops.h"
#include "lanista/model/ops/window.h"

namespace lanista::autodiff {
namespace {

Types infer_linear_grad_x(const OpArgs& args) {
  LANISTA_TRY(ops::require_real(args));
  Shape shape = ops::shape_of(args, 0);
  const Shape& weight = ops::shape_of(args, 1);
  if (shape.rank() < 2 || weight.has_batch() || weight.rank() != 2 || weight.dims[0] != shape.dims.back()) {
    return ops::shape_error("dy " + shape.text() + " does not fit the weight " + weight.text());
  }
  shape.dims.back() = weight.dims[1];
  return ops::value(std::move(shape));
}

Types infer_linear_grad_w(const OpArgs& args) {
  LANISTA_TRY(ops::require_real(args, 0));
  LANISTA_TRY(ops::require_real(args, 1));
  Shape x = ops::shape_of(args, 0);
  const Shape& dy = ops::shape_of(args, 1);
  const std::int64_t in = x.dims.back();
  x.dims.back() = dy.dims.back();
  if (x.rank() < 2 || x != dy) {
    return ops::shape_error("x " + ops::shape_text(args, 0) + " and dy " + dy.text() +
                            " must agree but for the last dimension");
  }
  return ops::value(ops::unbatched({dy.dims.back(), in}));
}

Types infer_channel_sum(const OpArgs& args) {
  LANISTA_TRY(ops::require_real(args));
  const Shape& shape = ops::shape_of(args);
  if (shape.rank() < 2) return ops::shape_error("dy " + shape.text() + " has no channels");
  return ops::value(ops::unbatched({shape.dims[ops::channel_dim(shape)]}));
}

Types infer_conv_grad_x(const OpArgs& args) {
  LANISTA_ASSIGN(const ops::ConvDims dims,
                 ops::conv_dims(args, args.list("input_size"), args.integer("out"), args.integer("groups")));
  LANISTA_TRY(ops::require_type(args, 0, {dims.output(), DType::kReal}, "dy"));
  LANISTA_TRY(ops::require_type(args, 1, {dims.weight(), DType::kReal}, "the weight"));
  return ops::value(dims.input());
}

Types infer_conv_grad_w(const OpArgs& args) {
  LANISTA_TRY(ops::require_image(args));
  LANISTA_ASSIGN(const ops::ConvDims dims, ops::conv_dims(args, ops::without_batch(ops::shape_of(args)),
                                                          args.integer("out"), args.integer("groups")));
  LANISTA_TRY(ops::require_type(args, 1, {dims.output(), DType::kReal}, "dy"));
  return ops::value(dims.weight());
}

double size(const OpArgs& args, std::size_t i) {
  return static_cast<double>(ops::shape_of(args, i).elements_per_sample());
}

// Costs as many products as the forward operator, with other roles of its three values.
OpDef linear_grad_op(std::string name, std::string help, std::function<Types(const OpArgs&)> infer) {
  OpDef def = step_op(std::move(name), std::move(help), 2, std::move(infer));
  def.cost = [](const OpArgs& args) {
    // The second value's last dimension is the one that the first lacks: in of [out, in], out of dy.
    return ops::cost_of(args, 2 * size(args, 0) * static_cast<double>(ops::shape_of(args, 1).dims.back()));
  };
  return def;
}

OpDef conv_grad_op(std::string name, std::string help, std::function<Types(const OpArgs&)> infer) {
  OpDef def = step_op(std::move(name), std::move(help), 2, std::move(infer));
  def.cost = [](const OpArgs& args) {
    const bool by_input = args.def.name == "conv2d_grad_x";
    const auto dims = ops::conv_dims(args, by_input ? args.list("input_size") : ops::without_batch(ops::shape_of(args)),
                                     args.integer("out"), args.integer("groups"));
    return ops::cost_of(args, (*dims).flops());
  };
  def.attrs = ops::window_attrs();
  def.attrs.push_back(ops::required_int("out", 1, AttrRole::kStatic, "output channels of the convolution"));
  def.attrs.push_back(ops::optional_int("groups", 1, 1, AttrRole::kStatic, "groups of the convolution"));
  return def;
}

}  // namespace

Result<void> add_linear_grad_ops(graph::OpTable& table) {
  LANISTA_TRY(table.add(linear_grad_op("linear_grad_x", "Gradient of linear by its input.", infer_linear_grad_x)));
  LANISTA_TRY(table.add(linear_grad_op("linear_grad_w", "Gradient of linear by its weight.", infer_linear_grad_w)));
  LANISTA_TRY(table.add(
      step_op("channel_sum", "Sums over everything but the channels: the gradient of a bias.", 1, infer_channel_sum)));
  OpDef grad_x = conv_grad_op("conv2d_grad_x", "Gradient of conv2d by its input.", infer_conv_grad_x);
  grad_x.attrs.push_back(ops::required_list("input_size", 1, AttrRole::kStatic, "[C, H, W] of the input"));
  LANISTA_TRY(table.add(std::move(grad_x)));
  return table.add(conv_grad_op("conv2d_grad_w", "Gradient of conv2d by its weight.", infer_conv_grad_w));
}

}  // namespace lanista::autodiff
