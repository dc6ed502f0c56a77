// Linear layers and convolutions by library products and lane kernels. One pass gathers the windows with their padding.
// A depthwise convolution needs no product.
#include <algorithm>
#include <cstdint>
#include <string>

#include "lanista/exec/backends/aten/aten_matrix_views.h"
#include "lanista/exec/backends/aten/aten_shapes.h"
#include "lanista/exec/backends/aten/lane_calls.h"
#include "lanista/exec/backends/aten/lane_products.h"
#include "lanista/exec/backends/aten/operand_rounding.h"

namespace lanista::device {
namespace {

// Windows of x that a product multiplies: the sizes of the input image and of the output.
struct WindowShape {
  std::int64_t h, w, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, spread_h, spread_w, groups;

  bool is_whole() const {
    return kh == 1 && kw == 1 && stride_h == 1 && stride_w == 1 && top == 0 && left == 0 && spread_h == 1 &&
           spread_w == 1 && groups == 1 && oh == h && ow == w;
  }
};

WindowShape windows_forward(const Conv& s) {
  return {s.h,          s.w,          s.oh,       s.ow,        s.kh, s.kw, s.stride_h, s.stride_w,
          s.dilation_h, s.dilation_w, s.pads.top, s.pads.left, 1,    1,    s.groups};
}

// Windows of dy in the gradient by x: a convolution of stride one over dy, spread by the stride.
WindowShape windows_backward(const Conv& s) {
  return {s.oh,
          s.ow,
          s.h,
          s.w,
          s.kh,
          s.kw,
          1,
          1,
          s.dilation_h,
          s.dilation_w,
          s.dilation_h * (s.kh - 1) - s.pads.top,
          s.dilation_w * (s.kw - 1) - s.pads.left,
          s.stride_h,
          s.stride_w,
          s.groups};
}

// [lanes groups, n oh ow, kh kw c/groups]. Images that all lanes share are gathered once.
Tensor windows(const LaneKernels& kernels, const Tensor& x, const WindowShape& s) {
  const std::int64_t lanes = x.size(0), n = x.size(1), c = x.size(2), each = c / s.groups;
  if (s.is_whole()) return x.permute({0, 1, 3, 4, 2}).reshape({lanes, n * s.h * s.w, c});
  if (lanes > 1 && x.stride(0) == 0 && s.groups == 1) {
    const Tensor one = windows(kernels, x.narrow(0, 0, 1), s);
    return one.expand({lanes, one.size(1), one.size(2)});
  }
  Tensor y = at::empty({lanes * s.groups, n * s.oh * s.ow, s.kh * s.kw * each}, x.options());
  kernels.run("windows", x.scalar_type(), lanes * s.groups * n * s.oh * s.ow * each,
              lane::Windows{x.data_ptr(), y.data_ptr(), image_of(x), n,          s.h,        s.w,          s.oh,
                            s.ow,         s.kh,         s.kw,        s.stride_h, s.stride_w, s.dilation_h, s.dilation_w,
                            s.top,        s.left,       s.spread_h,  s.spread_w, s.groups,   each});
  return y;
}

// ---- depthwise convolutions ----

bool is_depthwise(const Conv& s) { return s.groups > 1 && s.groups == s.ci && s.groups == s.co; }

// [lanes, kh, kw, c]; the lanes need not be contiguous.
Tensor depthwise_weights(const Tensor& weight) {
  const Tensor w = weight.select(2, 0).permute({0, 2, 3, 1});
  const bool dense = w.stride(3) == 1 && w.stride(2) == w.size(3) && w.stride(1) == w.size(2) * w.size(3);
  return dense ? w : w.contiguous();
}

lane::Depthwise depthwise_of(const Conv& s, std::int64_t samples) {
  return {.x = nullptr,
          .dy = nullptr,
          .weight = nullptr,
          .y = nullptr,
          .at = {},
          .dy_at = {},
          .samples = samples,
          .channels = s.ci,
          .h = s.h,
          .w = s.w,
          .oh = s.oh,
          .ow = s.ow,
          .kh = s.kh,
          .kw = s.kw,
          .stride_h = s.stride_h,
          .stride_w = s.stride_w,
          .dilation_h = s.dilation_h,
          .dilation_w = s.dilation_w,
          .top = s.pads.top,
          .left = s.pads.left,
          .weight_stride = 0,
          .each = 0,
          .parts = 0,
          .vector_width = 1};
}

Tensor depthwise(const LaneKernels& kernels, const Tensor& x, const Tensor& weight, const Conv& s) {
  const Tensor w = depthwise_weights(weight);
  Tensor y = at::empty({x.size(0), x.size(1), s.oh, s.ow, s.co}, x.options());
  lane::Depthwise call = depthwise_of(s, x.size(1));
  call.x = x.data_ptr(), call.at = image_of(x);
  call.weight = w.data_ptr(), call.weight_stride = w.stride(0);
  call.y = y.data_ptr(), call.vector_width = can_load_fours(x) ? 4 : 1;
  kernels.run("depthwise", x.scalar_type(), y.numel() / call.vector_width, call);
  return to_channels_first(y);
}

Tensor depthwise_grad_x(const LaneKernels& kernels, const Tensor& dy, const Tensor& weight, const Conv& s) {
  const Tensor w = depthwise_weights(weight);
  Tensor dx = at::empty({dy.size(0), dy.size(1), s.h, s.w, s.ci}, dy.options());
  lane::Depthwise call = depthwise_of(s, dy.size(1));
  call.dy = dy.data_ptr(), call.dy_at = image_of(dy);
  call.weight = w.data_ptr(), call.weight_stride = w.stride(0);
  call.y = dx.data_ptr(), call.vector_width = can_load_fours(dy) ? 4 : 1;
  kernels.run("depthwise_grad_x", dy.scalar_type(), dx.numel() / call.vector_width, call);
  return to_channels_first(dx);
}

Tensor depthwise_grad_w(const LaneKernels& kernels, const Tensor& x, const Tensor& dy, const Conv& s) {
  lane::Depthwise call = depthwise_of(s, x.size(1));
  const std::int64_t output_rows = x.size(1) * s.oh;
  call.each = std::max<std::int64_t>(8, (output_rows + 127) / 128);
  call.parts = (output_rows + call.each - 1) / call.each;
  Tensor parts = at::empty({x.size(0), call.parts, s.kh * s.kw * s.ci}, x.options());
  call.x = x.data_ptr(), call.at = image_of(x);
  call.dy = dy.data_ptr(), call.dy_at = image_of(dy);
  call.y = parts.data_ptr();
  const std::int64_t cells = s.kw >= 5 ? 5 : s.kw >= 2 ? 3 : 1;  // cells of a window row per thread
  call.vector_width = can_load_fours(x) && can_load_fours(dy) && vector_width_of(parts, s.ci) == 4 ? 4 : 1;
  kernels.run(("depthwise_grad_w_" + std::to_string(cells)).c_str(), x.scalar_type(),
              parts.numel() / s.kw * ((s.kw + cells - 1) / cells) / call.vector_width, call);
  return lane_column_sum(kernels, parts).reshape({x.size(0), s.kh, s.kw, 1, s.ci}).permute({0, 4, 3, 1, 2});
}

// ---- eight output channels per thread, without gathered windows ----

constexpr std::int64_t kOutputs = 8;  // output channels per thread
constexpr std::int64_t kThreadsOfLane = 4096;
constexpr std::int64_t kThreadsOfDevice = 132 * 512;  // threads that fill a large GPU

// [lanes, kh kw ci co]; the lanes need not be contiguous. A copy if a lane does not begin at a multiple of four.
Tensor stored_weights(const Tensor& weight) {
  const Tensor w = weight.permute({0, 3, 4, 2, 1});
  const std::int64_t each = w.numel() / w.size(0);
  const bool dense = w.select(0, 0).is_contiguous() && w.stride(0) % 4 == 0 && vector_width_of(w, w.size(4)) == 4;
  return (dense ? w : w.clone(at::MemoryFormat::Contiguous))
      .as_strided({w.size(0), each}, {dense ? w.stride(0) : each, 1});
}

bool is_direct(const WindowShape& cut, std::int64_t outputs) {
  return cut.groups == 1 && outputs % kOutputs == 0 && !cut.is_whole();
}

Tensor convolved(const LaneKernels& kernels, const Tensor& x, const Tensor& weights, std::int64_t co,
                 const WindowShape& s, const Tensor& bias = {}) {
  Tensor y = at::empty({weights.size(0), x.size(1), s.oh, s.ow, co}, x.options());
  const Tensor columns = bias.defined() ? dense_columns(bias) : Tensor();
  const std::int64_t pixels = x.size(1) * s.oh * s.ow;
  const std::int64_t all = y.size(0) * (co / kOutputs) * pixels;
  const std::int64_t each = all >= 4 * kThreadsOfDevice ? 4 : all >= 2 * kThreadsOfDevice ? 2 : 1;
  kernels.run(("convolution_" + std::to_string(each)).c_str(), x.scalar_type(),
              y.size(0) * (co / kOutputs) * ((pixels + each - 1) / each),
              lane::Convolution{.x = x.data_ptr(),
                                .weight = weights.data_ptr(),
                                .bias = columns.defined() ? columns.data_ptr() : nullptr,
                                .y = y.data_ptr(),
                                .at = image_of(x),
                                .samples = x.size(1),
                                .h = s.h,
                                .w = s.w,
                                .ci = x.size(2),
                                .oh = s.oh,
                                .ow = s.ow,
                                .co = co,
                                .kh = s.kh,
                                .kw = s.kw,
                                .stride_h = s.stride_h,
                                .stride_w = s.stride_w,
                                .dilation_h = s.dilation_h,
                                .dilation_w = s.dilation_w,
                                .top = s.top,
                                .left = s.left,
                                .spread_h = s.spread_h,
                                .spread_w = s.spread_w,
                                .weight_stride = weights.stride(0),
                                .bias_stride = columns.defined() ? columns.stride(0) : 0,
                                .fours = can_load_fours(x) ? 1 : 0});
  return to_channels_first(y);
}

// [lanes, kh kw co ci] for the backward pass.
Tensor turned(const LaneKernels& kernels, const Tensor& weight, const Conv& s) {
  const Tensor w = stored_weights(weight);
  Tensor y = at::empty({w.size(0), w.size(1)}, w.options());
  kernels.run("turn", w.scalar_type(), y.numel(),
              lane::WeightTranspose{w.data_ptr(), y.data_ptr(), s.kh * s.kw, s.ci, s.co, w.stride(0)});
  return y;
}

Tensor direct_grad_w(const LaneKernels& kernels, const Tensor& x, const Tensor& back, const Conv& s) {
  const Tensor dy = can_load_fours(back)
                        ? back
                        : to_channels_first(back.permute({0, 1, 3, 4, 2}).clone(at::MemoryFormat::Contiguous));
  const std::int64_t lanes = dy.size(0), rows = x.size(1) * s.oh * s.ow;
  // The split depends on sizes only, not on the lanes, and gives enough parts for a large GPU.
  const std::int64_t threads = s.kh * s.kw * ((s.ci + 3) / 4) * (s.co / kOutputs);
  const std::int64_t wanted = std::clamp<std::int64_t>(kThreadsOfLane / threads, 1, 128);
  const std::int64_t each = std::max<std::int64_t>(32, (rows + wanted - 1) / wanted);
  const std::int64_t parts = (rows + each - 1) / each;
  Tensor y = at::empty({lanes, parts, s.kh * s.kw * s.ci * s.co}, dy.options());
  kernels.run("convolution_grad_w", x.scalar_type(), lanes * parts * threads,
              lane::ConvolutionGrad{.x = x.data_ptr(),
                                    .dy = dy.data_ptr(),
                                    .y = y.data_ptr(),
                                    .at = image_of(x),
                                    .dy_at = image_of(dy),
                                    .samples = x.size(1),
                                    .h = s.h,
                                    .w = s.w,
                                    .ci = s.ci,
                                    .oh = s.oh,
                                    .ow = s.ow,
                                    .co = s.co,
                                    .kh = s.kh,
                                    .kw = s.kw,
                                    .stride_h = s.stride_h,
                                    .stride_w = s.stride_w,
                                    .dilation_h = s.dilation_h,
                                    .dilation_w = s.dilation_w,
                                    .top = s.pads.top,
                                    .left = s.pads.left,
                                    .each = each,
                                    .parts = parts,
                                    .fours = can_load_fours(x) ? 1 : 0});
  const Tensor dw = parts == 1 ? y.squeeze(1) : lane_column_sum(kernels, y);
  return dw.reshape({lanes, s.kh, s.kw, s.ci, s.co}).permute({0, 4, 3, 1, 2});
}

// Adds the bias to the channels of an image, which are its last axis in memory.
Tensor with_bias(const LaneKernels& kernels, const Tensor& y, const Tensor& bias) {
  const Tensor last = y.permute({0, 1, 3, 4, 2}).contiguous();
  lane_add_columns(kernels, last.reshape({last.size(0), -1, last.size(4)}), bias);
  return to_channels_first(last);
}

// ---- all convolutions ----

Tensor conv2d_of(const LaneProducts& multiply, const Tensor& x, const Tensor& weight, const Conv& s,
                 const Tensor& bias = {}) {
  const LaneKernels& kernels = multiply.kernels();
  const WindowShape cut = windows_forward(s);
  if (is_direct(cut, s.co)) return convolved(kernels, x, stored_weights(weight), s.co, cut, bias);
  if (is_depthwise(s)) {
    const Tensor y = depthwise(kernels, x, weight, s);
    return bias.defined() ? with_bias(kernels, y, bias) : y;
  }
  const bool whole = s.groups == 1 && bias.defined();
  const Tensor product = multiply(windows(kernels, x, cut), weights_of(weight, s), {.bias = whole ? bias : Tensor()}).y;
  const Tensor y = to_channels_first(from_groups(product, x.size(0), s.groups, x.size(1), s.oh, s.ow));
  return bias.defined() && !whole ? with_bias(kernels, y, bias) : y;
}

Tensor conv2d_grad_x_of(const LaneProducts& multiply, const Tensor& dy, const Tensor& weight, const Conv& s) {
  const LaneKernels& kernels = multiply.kernels();
  if (is_depthwise(s)) return depthwise_grad_x(kernels, dy, weight, s);
  const WindowShape cut = windows_backward(s);
  if (is_direct(cut, s.ci)) return convolved(kernels, dy, turned(kernels, weight, s), s.ci, cut);
  const Tensor dx = multiply(windows(kernels, dy, cut), turned_weights_of(weight, s)).y;
  return to_channels_first(from_groups(dx, dy.size(0), s.groups, dy.size(1), s.h, s.w));
}

Tensor conv2d_grad_w_of(const LaneProducts& multiply, const Tensor& x, const Tensor& dy, const Conv& s) {
  const LaneKernels& kernels = multiply.kernels();
  if (is_depthwise(s)) return depthwise_grad_w(kernels, x, dy, s);
  if (s.groups == 1 && s.co % kOutputs == 0) return direct_grad_w(kernels, x, dy, s);
  const Tensor dw =
      multiply(windows(kernels, x, windows_forward(s)).transpose(1, 2), by_group(dy.permute({0, 1, 3, 4, 2}), s.groups))
          .y;
  return dw.reshape({x.size(0), s.groups, s.kh, s.kw, s.ci / s.groups, s.co / s.groups})
      .permute({0, 1, 5, 4, 2, 3})
      .reshape({x.size(0), s.co, s.ci / s.groups, s.kh, s.kw});
}

}  // namespace

void add_lane_dense(AtenTable& table, const LaneKernels& kernels, const OperandRounding& operand_rounding) {
  const LaneKernels* const k = &kernels;
  const LaneProducts multiply(kernels, operand_rounding);
  table["channel_sum"] = [k](const AtenCall& call) -> AtenRun {
    return [k, channel = channel_of(call.x())](const Frame&, const Tensors& in) {
      return Tensors{lane_column_sum(*k, rows_of(in[0], channel))};
    };
  };
  table["conv2d"] = operand_rounding.of([multiply](const AtenCall& call) -> AtenRun {
    return [multiply, s = conv_of(call.args, call.x(0), call.x(1), call.y())](const Frame&, const Tensors& in) {
      return Tensors{conv2d_of(multiply, in[0], in[1], s, in.size() > 2 ? in[2] : Tensor())};
    };
  });
  table["conv2d_grad_x"] = operand_rounding.of([multiply](const AtenCall& call) -> AtenRun {
    return [multiply, s = conv_of(call.args, call.y(), call.x(1), call.x(0))](const Frame&, const Tensors& in) {
      return Tensors{conv2d_grad_x_of(multiply, in[0], in[1], s)};
    };
  });
  table["conv2d_grad_w"] = operand_rounding.of([multiply](const AtenCall& call) -> AtenRun {
    return [multiply, s = conv_of(call.args, call.x(0), call.y(), call.x(1))](const Frame&, const Tensors& in) {
      return Tensors{conv2d_grad_w_of(multiply, in[0], in[1], s)};
    };
  });
  table["conv_transpose2d"] = operand_rounding.of([multiply](const AtenCall& call) -> AtenRun {
    return [multiply, s = conv_of(call.args, call.y(), call.x(1), call.x(0))](const Frame&, const Tensors& in) {
      const Tensor y = conv2d_grad_x_of(multiply, in[0], in[1], s);
      return Tensors{in.size() > 2 ? with_bias(multiply.kernels(), y, in[2]) : y};
    };
  });
}

}  // namespace lanista::device
