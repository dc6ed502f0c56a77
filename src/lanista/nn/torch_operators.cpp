#include "lanista/nn/torch_operators.h"

#include "lanista/base/check.h"

namespace lanista::nn::testing {
namespace {

using List = std::vector<std::int64_t>;

List pair_of(const graph::OpArgs& args, std::string_view name) {
  const auto [a, b] = args.pair(name);
  return {a, b};
}

at::Tensor max_pool(const graph::OpArgs& args, const at::Tensor& x, const List& kernel, const List& stride,
                    const graph::ops::Pads& pads) {
  // Where ceil mode drops a window depends on what is padding, so even paddings stay LibTorch's own.
  if (pads.top == pads.bottom && pads.left == pads.right) {
    return at::max_pool2d(x, kernel, stride, {pads.top, pads.left}, {1, 1}, args.flag("ceil_mode"));
  }
  LANISTA_CHECK(!args.flag("ceil_mode"), "the oracle pads unevenly or rounds up, not both");
  return at::max_pool2d(torch_padded(x, pads, -1e30), kernel, stride);
}

// Sums and counts of each window apart: what lies behind the padding counts nowhere.
at::Tensor avg_pool(const graph::OpArgs& args, const at::Tensor& x, const List& kernel, const List& stride,
                    const graph::ops::Pads& pads) {
  const bool include = args.flag("count_include_pad");
  if (pads.top == pads.bottom && pads.left == pads.right) {
    return at::avg_pool2d(x, kernel, stride, {pads.top, pads.left}, args.flag("ceil_mode"), include);
  }
  const at::Tensor counted = torch_padded(at::ones_like(x), pads, include ? 1 : 0);
  const auto sums = [&](const at::Tensor& t) {
    return at::avg_pool2d(t, kernel, stride, {0, 0}, args.flag("ceil_mode"), false);
  };
  return sums(torch_padded(x, pads, 0)) / sums(counted);
}

at::Tensor lrn(const graph::OpArgs& args, const at::Tensor& x) {
  const std::int64_t size = args.integer("size"), before = (size - 1) / 2;
  const at::Tensor squares = at::constant_pad_nd(x.square(), {0, 0, 0, 0, before, size - 1 - before});
  at::Tensor sum = at::zeros_like(x);
  for (std::int64_t k = 0; k < size; ++k) sum = sum + squares.narrow(1, k, x.size(1));
  return x * (args.real("bias") + args.real("alpha") / static_cast<double>(size) * sum).pow(-args.real("beta"));
}

}  // namespace

at::Tensor torch_padded(const at::Tensor& x, const graph::ops::Pads& pads, double value) {
  return at::constant_pad_nd(x, {pads.left, pads.right, pads.top, pads.bottom}, value);
}

// Windows over sequences are windows over images of one row.
std::optional<at::Tensor> torch_window(const std::string& op, const graph::OpArgs& args,
                                       const std::vector<at::Tensor>& x, const TorchParam& param) {
  if (op == "max_pool2d" || op == "avg_pool2d") {
    const auto [rows, columns] = graph::ops::pool_stride(args);
    const auto f = op == "max_pool2d" ? max_pool : avg_pool;
    return f(args, x[0], pair_of(args, "kernel"), {rows, columns}, graph::ops::pads_of(args));
  }
  if (op == "max_pool1d" || op == "avg_pool1d") {
    const std::int64_t kernel = args.integer("kernel"), stride = args.integer("stride");
    const auto [before, after] = args.pair("padding");
    if (op == "max_pool1d") {
      const at::Tensor all = at::constant_pad_nd(x[0], {before, after}, -1e30);
      return at::max_pool1d(all, kernel, stride > 0 ? stride : kernel, 0, 1, args.flag("ceil_mode"));
    }
    const List windows{1, kernel}, steps{1, stride > 0 ? stride : kernel};
    return avg_pool(args, x[0].unsqueeze(2), windows, steps, {0, 0, before, after}).squeeze(2);
  }
  if (op == "conv1d") {
    const auto [before, after] = args.pair("padding");
    return at::conv1d(at::constant_pad_nd(x[0], {before, after}, 0), param("weight"), param("bias"),
                      List{args.integer("stride")}, List{0}, List{args.integer("dilation")}, args.integer("groups"));
  }
  if (op == "conv_transpose2d") {
    const at::Tensor all = at::conv_transpose2d(x[0], param("weight"), {}, pair_of(args, "stride"), {0, 0}, {0, 0},
                                                args.integer("groups"), pair_of(args, "dilation"));
    const auto [rows, columns] = args.pair("output_padding");
    const graph::ops::Pads cut = graph::ops::pads_of(args);
    const at::Tensor y = at::constant_pad_nd(all, {-cut.left, columns - cut.right, -cut.top, rows - cut.bottom});
    return args.flag("bias") ? y + param("bias").reshape({-1, 1, 1}) : y;
  }
  if (op == "global_max_pool") return x[0].amax(List{2, 3});
  if (op == "resize" || op == "upsample") {
    List size = pair_of(args, op == "resize" ? "out" : "factor");
    for (int i = 0; op == "upsample" && i < 2; ++i) size[static_cast<std::size_t>(i)] *= x[0].size(2 + i);
    if (args.text("mode") == "nearest") return at::upsample_nearest2d(x[0], size);
    return at::upsample_bilinear2d(x[0], size, false);
  }
  return std::nullopt;
}

std::optional<at::Tensor> torch_elementwise(const std::string& op, const graph::OpArgs& args,
                                            const std::vector<at::Tensor>& x) {
  if (op == "leaky_relu") return at::leaky_relu(x[0], args.real("alpha"));
  if (op == "elu") return at::elu(x[0], args.real("alpha"));
  if (op == "clip") return at::clamp(x[0], args.real("min"), args.real("max"));
  if (op == "relu6") return at::clamp(x[0], 0, 6);
  if (op == "hard_sigmoid") return at::clamp(x[0] * args.real("alpha") + args.real("beta"), 0, 1);
  if (op == "hard_swish") return x[0] * at::clamp(x[0] / 6 + 0.5, 0, 1);
  if (op == "sub") return x[0] - x[1];
  if (op == "div") return x[0] / x[1];
  if (op == "slice") {
    const std::int64_t axis = args.integer("axis"), end = args.integer("end");
    return x[0].slice(axis, args.integer("start"), end == 0 ? x[0].size(axis) : end);
  }
  if (op == "scale") return x[0].dim() == 4 ? x[0] * x[1].reshape({x[1].size(0), -1, 1, 1}) : x[0] * x[1].unsqueeze(1);
  if (op == "channel_shuffle") {  // LibTorch's own has no derivative
    return x[0].unflatten(1, {args.integer("groups"), -1}).transpose(1, 2).reshape(x[0].sizes());
  }
  if (op == "lrn") return lrn(args, x[0]);
  return std::nullopt;
}

}  // namespace lanista::nn::testing
