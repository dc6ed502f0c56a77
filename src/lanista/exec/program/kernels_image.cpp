// Gates, shuffles and local normalisation of channels, and resizing of images.
#include "lanista/exec/program/kernel_table.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::program {
namespace {

// The channel is the last axis in memory, for images too: a value is [n][rows][c].
template <class T, auto kernel>
Run<T> gate(const Binding<T>& b) {
  const graph::Shape& shape = b.x_shape(0);
  const std::int64_t c = shape.dims[graph::ops::channel_dim(shape)];
  return [f = b.k.*kernel, rows = shape.elements_per_sample() / c, c, x = b.in[0], other = b.in[1],
          y = b.out[0]](const RunContext<T>& run) { f(run.batch, rows, c, run.at(x), run.at(other), run.at(y)); };
}

template <class T>
Run<T> channel_shuffle(const Binding<T>& b) {
  const std::int64_t c = b.x_shape(0).dims[1], groups = b.args().integer("groups");
  return [f = b.k.permute, positions = b.x_shape(0).elements_per_sample() / c, c, groups, x = b.in[0],
          y = b.out[0]](const RunContext<T>& run) {
    const std::array<std::int64_t, 3> sizes{run.batch * positions, c / groups, groups}, strides{c, 1, c / groups};
    f(sizes, strides, run.at(x), run.at(y));
  };
}

template <class T>
kernels::LrnShape lrn_shape(const Binding<T>& b) {
  const graph::OpArgs args = b.args();
  const kernels::LrnShape shape{.rows = b.x_shape(0).dims[2] * b.x_shape(0).dims[3],
                                .c = b.x_shape(0).dims[1],
                                .size = args.integer("size"),
                                .alpha = args.real("alpha"),
                                .beta = args.real("beta"),
                                .bias = args.real("bias")};
  b.reserve_scratch(2 * (shape.c + shape.size));
  return shape;
}

template <class T>
Run<T> lrn(const Binding<T>& b) {
  return [f = b.k.lrn, shape = lrn_shape(b), x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    kernels::LrnShape now = shape;
    now.rows *= run.batch;
    f(now, run.at(x), run.at(y), run.scratch);
  };
}

template <class T>
Run<T> lrn_grad(const Binding<T>& b) {
  return [f = b.k.lrn_grad, shape = lrn_shape(b), x = b.in[0], dy = b.in[1], dx = b.out[0]](const RunContext<T>& run) {
    kernels::LrnShape now = shape;
    now.rows *= run.batch;
    f(now, run.at(x), run.at(dy), run.at(dx), run.scratch);
  };
}

// `from` and `to` are the shapes of the forward operator.
template <class T, class F>
Run<T> resized(const Binding<T>& b, F nearest, F bilinear, const graph::Shape& from, const graph::Shape& to) {
  const kernels::ResizeShape shape{
      .n = 0, .h = from.dims[2], .w = from.dims[3], .c = from.dims[1], .oh = to.dims[2], .ow = to.dims[3]};
  return [f = b.args().text("mode") == "bilinear" ? bilinear : nearest, shape, x = b.in[0],
          y = b.out[0]](const RunContext<T>& run) {
    kernels::ResizeShape now = shape;
    now.n = run.batch;
    f(now, run.at(x), run.at(y));
  };
}

template <class T>
Run<T> resize(const Binding<T>& b) {
  return resized(b, b.k.resize_nearest, b.k.resize_bilinear, b.x_shape(0), b.y_shape());
}

template <class T>
Run<T> resize_grad(const Binding<T>& b) {
  return resized(b, b.k.resize_nearest_grad, b.k.resize_bilinear_grad, b.y_shape(), b.x_shape(0));
}

}  // namespace

template <class T>
void add_image_kernels(KernelTable<T>& table) {
  using K = kernels::Kernels<T>;
  table["scale"] = gate<T, &K::gate>;
  table["scale_grad_gate"] = gate<T, &K::gate_grad>;
  table["channel_shuffle"] = channel_shuffle<T>;
  table["lrn"] = lrn<T>;
  table["lrn_grad"] = lrn_grad<T>;
  table["resize"] = resize<T>;
  table["resize_grad"] = resize_grad<T>;
}

template void add_image_kernels(KernelTable<float>&);
template void add_image_kernels(KernelTable<double>&);

}  // namespace lanista::program
