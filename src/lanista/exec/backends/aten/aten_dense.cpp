// Linear layers, convolutions and matrix products. A convolution gathers its windows and multiplies per lane and group.
// Nothing is ever scattered.
#include "lanista/exec/backends/aten/aten_matrix_views.h"
#include "lanista/exec/backends/aten/aten_shapes.h"
#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/exec/backends/aten/operand_rounding.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::device {
namespace {

AtenRun linear(const AtenCall&) {
  return [](const Frame&, const Tensors& in) {
    Tensor y = at::bmm(rows(in[0]), in[1].transpose(1, 2));
    if (in.size() > 2) y = y + in[2].unsqueeze(1);
    return Tensors{unrolled(y, in[0])};
  };
}

Tensor linear_grad_x(const Tensors& in) { return unrolled(at::bmm(rows(in[0]), in[1]), in[0]); }
// Weight gradient [in, out], as in the state.
Tensor linear_grad_w(const Tensors& in) { return at::bmm(rows(in[0]).transpose(1, 2), rows(in[1])).transpose(1, 2); }

Tensor channels_last(const Tensor& x) { return x.permute({0, 1, 3, 4, 2}); }
Tensor channels_first(const Tensor& x) { return x.permute({0, 1, 4, 2, 3}); }

// Removes `before` and `after` elements at the ends of a dimension. The result may be empty, where ATen's own padding
// throws.
Tensor cut(const Tensor& x, std::int64_t dim, std::int64_t before, std::int64_t after) {
  const std::int64_t size = x.size(dim), begin = std::min(before, size);
  return x.slice(dim, begin, std::max(begin, size - after));
}

// x [lanes, n, h, w, c] with zeros around it; a negative width crops.
Tensor framed(const Tensor& x, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) {
  const auto less = [](std::int64_t pad) { return std::max<std::int64_t>(-pad, 0); };
  const Tensor rest = cut(cut(x, 2, less(top), less(bottom)), 3, less(left), less(right));
  if (rest.numel() == 0) {
    return at::zeros({x.size(0), x.size(1), x.size(2) + top + bottom, x.size(3) + left + right, x.size(4)},
                     x.options());
  }
  const auto more = [](std::int64_t pad) { return std::max<std::int64_t>(pad, 0); };
  return at::constant_pad_nd(rest, {0, 0, more(left), more(right), more(top), more(bottom)}, 0).contiguous();
}

// Windows of padded images: [lanes groups, n oh ow, kh kw c/groups].
Tensor windows(const Tensor& framed, const Conv& s) {
  const std::int64_t lanes = framed.size(0), n = framed.size(1), c = framed.size(4), each = c / s.groups;
  const std::int64_t row = framed.size(3) * c, image = framed.size(2) * row;
  return framed
      .as_strided({lanes, s.groups, n, s.oh, s.ow, s.kh, s.kw, each},
                  {n * image, each, image, s.stride_h * row, s.stride_w * c, s.dilation_h * row, s.dilation_w * c, 1})
      .reshape({lanes * s.groups, n * s.oh * s.ow, s.kh * s.kw * each});
}

Tensor windows_of_x(const Tensor& x, const Conv& s) {
  return windows(framed(channels_last(x), s.pads.top, s.pads.bottom, s.pads.left, s.pads.right), s);
}

Tensor conv2d_of(const Tensor& x, const Tensor& weight, const Conv& s) {
  const Tensor y = at::bmm(windows_of_x(x, s), weights_of(weight, s));
  return channels_first(from_groups(y, x.size(0), s.groups, x.size(1), s.oh, s.ow));
}

// dy spread by the stride, then a convolution of stride one with flipped weights.
Tensor conv2d_grad_x_of(const Tensor& dy, const Tensor& weight, const Conv& s) {
  const std::int64_t lanes = dy.size(0), n = dy.size(1);
  const std::int64_t high = (s.oh - 1) * s.stride_h + 1, vector_width = (s.ow - 1) * s.stride_w + 1;
  Tensor spread = channels_last(dy);
  if (s.stride_h > 1 || s.stride_w > 1) {
    Tensor zeros = at::zeros({lanes, n, high, vector_width, s.co}, dy.options());
    zeros.slice(2, 0, high, s.stride_h).slice(3, 0, vector_width, s.stride_w).copy_(spread);
    spread = zeros;
  }
  const std::int64_t reach_h = s.dilation_h * (s.kh - 1), reach_w = s.dilation_w * (s.kw - 1);
  const std::int64_t top = reach_h - s.pads.top, left = reach_w - s.pads.left;
  Conv back = s;
  back.oh = s.h;
  back.ow = s.w;
  back.stride_h = back.stride_w = 1;
  const Tensor whole = framed(spread, top, s.h + reach_h - top - high, left, s.w + reach_w - left - vector_width);
  const Tensor dx = at::bmm(windows(whole, back), turned_weights_of(weight, s));
  return channels_first(from_groups(dx, lanes, s.groups, n, s.h, s.w));
}

Tensor conv2d_grad_w_of(const Tensor& x, const Tensor& dy, const Conv& s) {
  const Tensor dw = at::bmm(windows_of_x(x, s).transpose(1, 2), by_group(channels_last(dy), s.groups));
  return dw.reshape({x.size(0), s.groups, s.kh, s.kw, s.ci / s.groups, s.co / s.groups})
      .permute({0, 1, 5, 4, 2, 3})
      .reshape({x.size(0), s.co, s.ci / s.groups, s.kh, s.kw});
}

AtenRun conv2d(const AtenCall& call) {
  return [s = conv_of(call.args, call.x(0), call.x(1), call.y())](const Frame&, const Tensors& in) {
    Tensor y = conv2d_of(in[0], in[1], s);
    if (in.size() > 2) y = y + expand_channels(in[2], 2, 5);
    return Tensors{y};
  };
}

AtenRun conv2d_grad_x(const AtenCall& call) {
  return [s = conv_of(call.args, call.y(), call.x(1), call.x(0))](const Frame&, const Tensors& in) {
    return Tensors{conv2d_grad_x_of(in[0], in[1], s)};
  };
}

AtenRun conv2d_grad_w(const AtenCall& call) {
  return [s = conv_of(call.args, call.x(0), call.y(), call.x(1))](const Frame&, const Tensors& in) {
    return Tensors{conv2d_grad_w_of(in[0], in[1], s)};
  };
}

AtenRun conv_transpose2d(const AtenCall& call) {
  return [s = conv_of(call.args, call.y(), call.x(1), call.x(0))](const Frame&, const Tensors& in) {
    Tensor y = conv2d_grad_x_of(in[0], in[1], s);
    if (in.size() > 2) y = y + expand_channels(in[2], 2, 5);
    return Tensors{y};
  };
}

AtenRun channel_sum(const AtenCall& call) {
  return [channel = channel_of(call.x())](const Frame&, const Tensors& in) {
    return Tensors{column_sum(rows_of(in[0], channel))};
  };
}

AtenRun matmul(const AtenCall& call) {
  const bool left = call.args.flag("transpose_a"), right = call.args.flag("transpose_b");
  return [left, right, y = call.y()](const Frame& frame, const Tensors& in) {
    const auto matrices = [](const Tensor& x, bool transposed) {
      const Tensor all = x.reshape({-1, x.size(-2), x.size(-1)});
      return transposed ? all.transpose(1, 2) : all;
    };
    return Tensors{at::bmm(matrices(in[0], left), matrices(in[1], right)).reshape(sizes_of(frame, y))};
  };
}

}  // namespace

void add_dense(AtenTable& table, const OperandRounding& operand_rounding) {
  table["linear"] = operand_rounding.of(linear);
  table["linear_grad_x"] = operand_rounding.of(elementwise_entry(linear_grad_x));
  table["linear_grad_w"] = operand_rounding.of(elementwise_entry(linear_grad_w));
  table["channel_sum"] = channel_sum;
  table["conv2d"] = operand_rounding.of(conv2d);
  table["conv2d_grad_x"] = operand_rounding.of(conv2d_grad_x);
  table["conv2d_grad_w"] = operand_rounding.of(conv2d_grad_w);
  table["conv_transpose2d"] = operand_rounding.of(conv_transpose2d);
  table["matmul"] = operand_rounding.of(matmul);
}

}  // namespace lanista::device
