// Linear layers, convolutions and matrix products.
#include <vector>

#include "lanista/base/check.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/model/ops/window.h"

namespace lanista::program {
namespace {

// All dimensions but the last are rows. A weight [out, in] gives the other two sizes.
struct LinearSize {
  ElementCount rows;
  std::int64_t in, out;
};

LinearSize linear_size(const graph::Shape& rows_of, std::int64_t in, std::int64_t out) {
  LANISTA_CHECK(rows_of.rank() != 4, "a linear layer on an image " + rows_of.text());
  graph::Shape rows = rows_of;
  rows.dims.pop_back();
  return {ElementCount(rows), in, out};
}

template <class T, auto kernel>
Run<T> linear(const Binding<T>& b) {
  const LinearSize size = linear_size(b.x_shape(0), b.x_shape(0).dims.back(), b.y_shape().dims.back());
  const bool biased = b.in.size() > 2;
  return [f = b.k.*kernel, size, biased, x = b.in[0], w = b.in[1], bias = biased ? b.in[2] : Address{},
          y = b.out[0]](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.in, size.out, run.at(x), run.at(w), biased ? run.at(bias) : nullptr, run.at(y));
  };
}

template <class T>
Run<T> linear_grad_x(const Binding<T>& b) {
  const LinearSize size = linear_size(b.x_shape(0), b.y_shape().dims.back(), b.x_shape(0).dims.back());
  return [f = b.k.linear_grad_x, size, dy = b.in[0], w = b.in[1], dx = b.out[0]](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.in, size.out, run.at(dy), run.at(w), run.at(dx));
  };
}

template <class T>
Run<T> linear_grad_w(const Binding<T>& b) {
  const LinearSize size = linear_size(b.x_shape(0), b.x_shape(0).dims.back(), b.x_shape(1).dims.back());
  return [f = b.k.linear_grad_w, size, x = b.in[0], dy = b.in[1], dw = b.out[0]](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.in, size.out, run.at(x), run.at(dy), run.at(dw));
  };
}

template <class T>
Run<T> channel_sum(const Binding<T>& b) {
  // The channel is the last axis in memory, for images too.
  const std::int64_t columns = b.y_shape().elements_per_sample();
  ElementCount rows(b.x_shape(0));
  rows.per_sample /= columns;
  return [f = b.k.column_sum, rows, columns, x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    f(rows.at(run.batch), columns, run.at(x), run.at(y));
  };
}

// The sizes of a convolution from its input, weight and output shapes; n is set at run time.
template <class T>
kernels::ConvShape conv_shape(const Binding<T>& b, const graph::Shape& x, const graph::Shape& w,
                              const graph::Shape& y) {
  const graph::OpArgs args = b.args();
  const auto stride = args.pair("stride");
  const graph::ops::Pads pads = graph::ops::pads_of(args);
  const auto dilation = args.pair("dilation");
  return {.n = 0,
          .h = x.dims[2],
          .w = x.dims[3],
          .ci = x.dims[1],
          .oh = y.dims[2],
          .ow = y.dims[3],
          .co = y.dims[1],
          .kh = w.dims[2],
          .kw = w.dims[3],
          .stride_h = stride.first,
          .stride_w = stride.second,
          .pad_h = pads.top,
          .pad_w = pads.left,
          .dilation_h = dilation.first,
          .dilation_w = dilation.second,
          .groups = args.integer("groups")};
}

template <class T>
void need_conv_scratch(const Binding<T>& b, kernels::ConvShape shape) {
  for (shape.n = 1; shape.n <= b.max_batch; ++shape.n) b.reserve_scratch(b.k.conv2d_scratch(shape));
}

template <class T, auto kernel>
Run<T> conv2d(const Binding<T>& b) {
  kernels::ConvShape shape = conv_shape(b, b.x_shape(0), b.x_shape(1), b.y_shape());
  need_conv_scratch(b, shape);
  const bool biased = b.in.size() > 2;
  return [f = b.k.*kernel, shape, biased, x = b.in[0], w = b.in[1], bias = biased ? b.in[2] : Address{},
          y = b.out[0]](const RunContext<T>& run) {
    kernels::ConvShape now = shape;
    now.n = run.batch;
    f(now, run.at(x), run.at(w), biased ? run.at(bias) : nullptr, run.at(y), run.scratch);
  };
}

template <class T>
Run<T> conv2d_grad_x(const Binding<T>& b) {
  kernels::ConvShape shape = conv_shape(b, b.y_shape(), b.x_shape(1), b.x_shape(0));
  need_conv_scratch(b, shape);
  return [f = b.k.conv2d_grad_x, shape, dy = b.in[0], w = b.in[1], dx = b.out[0]](const RunContext<T>& run) {
    kernels::ConvShape now = shape;
    now.n = run.batch;
    f(now, run.at(dy), run.at(w), run.at(dx), run.scratch);
  };
}

// The input gradient of a convolution from y to x, plus an offset a channel.
template <class T>
Run<T> conv_transpose2d(const Binding<T>& b) {
  kernels::ConvShape shape = conv_shape(b, b.y_shape(), b.x_shape(1), b.x_shape(0));
  need_conv_scratch(b, shape);
  const bool biased = b.in.size() > 2;
  return [table = &b.k, shape, biased, x = b.in[0], w = b.in[1], bias = biased ? b.in[2] : Address{},
          y = b.out[0]](const RunContext<T>& run) {
    kernels::ConvShape now = shape;
    now.n = run.batch;
    table->conv2d_grad_x(now, run.at(x), run.at(w), run.at(y), run.scratch);
    if (biased) table->row_add(now.n * now.h * now.w, now.ci, run.at(y), run.at(bias), run.at(y));
  };
}

template <class T>
Run<T> conv2d_grad_w(const Binding<T>& b) {
  kernels::ConvShape shape = conv_shape(b, b.x_shape(0), b.y_shape(), b.x_shape(1));
  need_conv_scratch(b, shape);
  return [f = b.k.conv2d_grad_w, shape, x = b.in[0], dy = b.in[1], dw = b.out[0]](const RunContext<T>& run) {
    kernels::ConvShape now = shape;
    now.n = run.batch;
    f(now, run.at(x), run.at(dy), run.at(dw), run.scratch);
  };
}

// An operand of a matrix product in logical order: its address, or a copy of it in scratch memory.
struct Operand {
  Reorder reorder;
  Address place;
  std::int64_t scratch_offset = 0;

  template <class T>
  const T* get(const kernels::Kernels<T>& k, const RunContext<T>& run) const {
    if (reorder.is_identity()) return run.at(place);
    T* copy = run.scratch + scratch_offset;
    reorder.apply(k, run.batch, run.at(place), copy);
    return copy;
  }
};

template <class T>
Run<T> matmul(const Binding<T>& b) {
  const graph::Shape& a_shape = b.x_shape(0);
  const graph::Shape& y_shape = b.y_shape();
  const bool transpose_a = b.args().flag("transpose_a");
  const bool transpose_b = b.args().flag("transpose_b");
  const std::size_t rank = y_shape.rank();
  const std::int64_t m = y_shape.dims[rank - 2];
  const std::int64_t n = y_shape.dims[rank - 1];
  const std::int64_t k = a_shape.dims[transpose_a ? rank - 2 : rank - 1];
  const std::int64_t per_sample = y_shape.elements_per_sample() / (m * n);

  std::int64_t scratch = 0;
  const auto wanted = [&](const Reorder& reorder) {
    const std::int64_t offset = scratch;
    if (!reorder.is_identity()) scratch += reorder.elements(b.max_batch);
    return offset;
  };
  const auto operand = [&](std::size_t i) {
    Operand result{Reorder::from_layout(b.x_shape(i), value_layout(b.x_shape(i))), b.in[i], 0};
    result.scratch_offset = wanted(result.reorder);
    return result;
  };
  const Operand left = operand(0);
  const Operand right = operand(1);
  const Reorder result = Reorder::to_layout(y_shape, value_layout(y_shape));
  const std::int64_t result_offset = wanted(result);
  b.reserve_scratch(scratch);

  const kernels::MatmulShape shape{0, m, n, k, transpose_a, transpose_b};
  return [table = &b.k, shape, per_sample, left, right, result, result_offset, y = b.out[0]](const RunContext<T>& run) {
    kernels::MatmulShape now = shape;
    now.batch = per_sample * run.batch;
    T* product = result.is_identity() ? run.at(y) : run.scratch + result_offset;
    table->matmul(now, left.get(*table, run), right.get(*table, run), product);
    if (!result.is_identity()) result.apply(*table, run.batch, product, run.at(y));
  };
}

}  // namespace

template <class T>
void add_dense_kernels(KernelTable<T>& table) {
  using K = kernels::Kernels<T>;
  using Entry = KernelEntry<T>;
  table["linear"] = Entry(linear<T, &K::linear>).reads_as(1, Layout::kLinearWeight).computes(&K::linear);
  table["linear_relu"] = Entry(linear<T, &K::linear_relu>)
                             .reads_as(1, Layout::kLinearWeight)
                             .computes(&K::linear_relu)
                             .fuses({.first = "linear", .second = "relu"});
  table["linear_grad_x"] = Entry(linear_grad_x<T>).reads_as(1, Layout::kLinearWeight);
  table["linear_grad_w"] = linear_grad_w<T>;
  table["linear_grad_w"].is_linear_weight_grad = true;
  table["channel_sum"] = channel_sum<T>;
  table["conv2d"] = Entry(conv2d<T, &K::conv2d>).reads_as(1, Layout::kConvWeight);
  table["conv2d_relu"] =
      Entry(conv2d<T, &K::conv2d_relu>).reads_as(1, Layout::kConvWeight).fuses({.first = "conv2d", .second = "relu"});
  table["conv2d_grad_x"] = Entry(conv2d_grad_x<T>).reads_as(1, Layout::kConvWeight);
  table["conv2d_grad_w"] = conv2d_grad_w<T>;
  table["conv_transpose2d"] = Entry(conv_transpose2d<T>).reads_as(1, Layout::kConvWeight);
  table["matmul"] = matmul<T>;
}

template void add_dense_kernels(KernelTable<float>&);
template void add_dense_kernels(KernelTable<double>&);

}  // namespace lanista::program
