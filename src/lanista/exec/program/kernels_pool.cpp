// Pooling.
#include <tuple>

#include "lanista/exec/program/kernel_table.h"
#include "lanista/model/ops/window.h"

namespace lanista::program {
namespace {

kernels::PoolShape sizes(const graph::Shape& x, const graph::Shape& y) {
  return {.n = 0,
          .h = x.dims[2],
          .w = x.dims[3],
          .c = x.dims[1],
          .oh = y.dims[2],
          .ow = y.dims[3],
          .kh = 0,
          .kw = 0,
          .stride_h = 0,
          .stride_w = 0,
          .pad_h = 0,
          .pad_w = 0,
          .pad_bottom = 0,
          .pad_right = 0,
          .count_include_pad = true};
}

// `x` is the larger image, `y` the pooled one.
template <class T>
kernels::PoolShape window(const Binding<T>& b, const graph::Shape& x, const graph::Shape& y) {
  kernels::PoolShape shape = sizes(x, y);
  const graph::OpArgs args = b.args();
  const graph::ops::Pads pads = graph::ops::pads_of(args);
  std::tie(shape.kh, shape.kw) = args.pair("kernel");
  std::tie(shape.stride_h, shape.stride_w) = graph::ops::pool_stride(args);
  std::tie(shape.pad_h, shape.pad_w) = std::pair(pads.top, pads.left);
  std::tie(shape.pad_bottom, shape.pad_right) = std::pair(pads.bottom, pads.right);
  return shape;
}

template <class T>
kernels::PoolShape average_window(const Binding<T>& b, const graph::Shape& x, const graph::Shape& y) {
  kernels::PoolShape shape = window(b, x, y);
  shape.count_include_pad = b.args().flag("count_include_pad");
  return shape;
}

// A call with one real input and one real output.
template <class T, class F>
Run<T> pooling(const Binding<T>& b, F f, const kernels::PoolShape& shape) {
  return [f, shape, x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    kernels::PoolShape now = shape;
    now.n = run.batch;
    f(now, run.at(x), run.at(y));
  };
}

template <class T, auto kernel>
Run<T> max_pool(const Binding<T>& b) {
  const bool indexed = b.out.size() > 1;
  return [f = b.k.*kernel, shape = window(b, b.x_shape(0), b.y_shape()), indexed, x = b.in[0], y = b.out[0],
          index = indexed ? b.out[1] : Address{}](const RunContext<T>& run) {
    kernels::PoolShape now = shape;
    now.n = run.batch;
    f(now, run.at(x), run.at(y), indexed ? run.template at<std::uint8_t>(index) : nullptr);
  };
}

template <class T>
Run<T> max_pool_grad(const Binding<T>& b) {
  return [f = b.k.max_pool_grad, shape = window(b, b.y_shape(), b.x_shape(1)), index = b.in[0], dy = b.in[1],
          dx = b.out[0]](const RunContext<T>& run) {
    kernels::PoolShape now = shape;
    now.n = run.batch;
    f(now, run.template at<std::uint8_t>(index), run.at(dy), run.at(dx));
  };
}

template <class T>
Run<T> avg_pool(const Binding<T>& b) {
  return pooling(b, b.k.avg_pool, average_window(b, b.x_shape(0), b.y_shape()));
}

template <class T>
Run<T> avg_pool_grad(const Binding<T>& b) {
  const kernels::PoolShape shape = average_window(b, b.y_shape(), b.x_shape(0));
  b.reserve_scratch(shape.oh * shape.ow * shape.c);
  return [f = b.k.avg_pool_grad, shape, dy = b.in[0], dx = b.out[0]](const RunContext<T>& run) {
    kernels::PoolShape now = shape;
    now.n = run.batch;
    f(now, run.at(dy), run.at(dx), run.scratch);
  };
}

template <class T>
Run<T> adaptive_avg_pool(const Binding<T>& b) {
  return pooling(b, b.k.adaptive_avg_pool, sizes(b.x_shape(0), b.y_shape()));
}

template <class T>
Run<T> adaptive_avg_pool_grad(const Binding<T>& b) {
  return pooling(b, b.k.adaptive_avg_pool_grad, sizes(b.y_shape(), b.x_shape(0)));
}

}  // namespace

template <class T>
void add_pool_kernels(KernelTable<T>& table) {
  using K = kernels::Kernels<T>;
  table["max_pool2d"] = max_pool<T, &K::max_pool>;
  table["max_pool2d_train"] = max_pool<T, &K::max_pool>;
  table["relu_max_pool2d"] = KernelEntry<T>(max_pool<T, &K::relu_max_pool>)
                                 .fuses({.first = "relu", .second = "max_pool2d", .takes_attrs_of_second = true});
  // The index marks where relu is zero, so the gradient of the pool includes that of relu.
  table["relu_max_pool2d_train"] = KernelEntry<T>(max_pool<T, &K::relu_max_pool>)
                                       .fuses({.first = "relu",
                                               .second = "max_pool2d_train",
                                               .takes_attrs_of_second = true,
                                               .first_grad = "relu_grad",
                                               .second_grad = "max_pool2d_grad"});
  table["max_pool2d_grad"] = max_pool_grad<T>;
  table["avg_pool2d"] = avg_pool<T>;
  table["avg_pool2d_grad"] = avg_pool_grad<T>;
  table["adaptive_avg_pool2d"] = adaptive_avg_pool<T>;
  table["adaptive_avg_pool2d_grad"] = adaptive_avg_pool_grad<T>;
}

template void add_pool_kernels(KernelTable<float>&);
template void add_pool_kernels(KernelTable<double>&);

}  // namespace lanista::program
