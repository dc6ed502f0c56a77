// Batch, layer and group normalisation.
#include "lanista/nn/kernel_table.h"

namespace lanista::nn {
namespace {

// A value that may be missing: a null pointer then.
struct Optional {
  Place place;
  bool there = false;
  template <class T>
  T* get(const RunContext<T>& run) const {
    return there ? run.at(place) : nullptr;
  }
};

template <class T>
Optional input(const Binding<T>& b, std::size_t i, bool there) {
  return there ? Optional{b.in[i], true} : Optional{};
}

// Rows (batch and positions) and channels of [N, C] or of an image.
struct BatchNormSize {
  Count rows;
  std::int64_t c;
};

BatchNormSize batch_norm_size(const graph::Shape& x) {
  Count rows(x);
  rows.per_sample /= x.dims[1];
  return {rows, x.dims[1]};
}

template <class T>
Run<T> batch_norm(const Binding<T>& b) {
  const bool affine = b.args().flag("affine");
  const std::size_t next = affine ? 3 : 1;
  return [f = b.k.batch_norm_eval, size = batch_norm_size(b.x_shape(0)), eps = b.args().real("eps"), x = b.in[0],
          gamma = input(b, 1, affine), beta = input(b, 2, affine), mean = b.in[next], var = b.in[next + 1],
          y = b.out[0]](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.c, eps, run.at(x), gamma.get(run), beta.get(run), run.at(mean), run.at(var),
      run.at(y));
  };
}

template <class T>
Run<T> batch_norm_train(const Binding<T>& b) {
  const bool affine = b.args().flag("affine");
  const std::size_t next = affine ? 3 : 1;
  return [f = b.k.batch_norm_train, size = batch_norm_size(b.x_shape(0)), eps = b.args().real("eps"),
          momentum = b.own_number("momentum"), x = b.in[0], gamma = input(b, 1, affine), beta = input(b, 2, affine),
          mean = b.in[next], var = b.in[next + 1], out = b.out](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.c, eps, momentum.of(run), run.at(x), gamma.get(run), beta.get(run), run.at(mean),
      run.at(var), run.at(out[0]), run.at(out[1]), run.at(out[2]), run.at(out[3]), run.at(out[4]));
  };
}

template <class T>
Run<T> batch_norm_grad(const Binding<T>& b) {
  return [f = b.k.batch_norm_grad, size = batch_norm_size(b.x_shape(0)), in = b.in,
          gamma = input(b, 4, b.in.size() > 4), out = b.out](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.c, run.at(in[0]), gamma.get(run), run.at(in[1]), run.at(in[2]), run.at(in[3]),
      run.at(out[0]), run.at(out[1]), run.at(out[2]));
  };
}

// The last `axes` dimensions are normalised; a whole image is one row in any layout.
struct LayerNormSize {
  Count rows;
  std::int64_t len = 1;
};

LayerNormSize layer_norm_size(const graph::Shape& x, std::int64_t axes) {
  LayerNormSize size{Count(x), 1};
  for (auto dim = x.dims.rbegin(); axes > 0; --axes, ++dim) size.len *= *dim;
  size.rows.per_sample /= size.len;
  return size;
}

// Statistics go to outputs 1 and 2, or to the scratch in inference, where nobody wants them.
template <class T>
Run<T> layer_norm(const Binding<T>& b) {
  const LayerNormSize size = layer_norm_size(b.x_shape(0), b.args().integer("axes"));
  const bool affine = b.args().flag("affine");
  const bool keep = b.out.size() > 1;
  const std::int64_t rows = size.rows.at(b.max_batch);
  if (!keep) b.need_scratch(2 * rows);
  return [f = b.k.layer_norm, size, keep, rows, eps = b.args().real("eps"), x = b.in[0], gamma = input(b, 1, affine),
          beta = input(b, 2, affine), out = b.out](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.len, eps, run.at(x), gamma.get(run), beta.get(run), run.at(out[0]),
      keep ? run.at(out[1]) : run.scratch, keep ? run.at(out[2]) : run.scratch + rows);
  };
}

template <class T>
Run<T> layer_norm_grad(const Binding<T>& b) {
  return [f = b.k.layer_norm_grad, size = layer_norm_size(b.x_shape(0), b.args().integer("axes")), in = b.in,
          gamma = input(b, 4, b.in.size() > 4), out = b.out](const RunContext<T>& run) {
    f(size.rows.at(run.batch), size.len, run.at(in[0]), gamma.get(run), run.at(in[1]), run.at(in[2]), run.at(in[3]),
      run.at(out[0]), run.at(out[1]), run.at(out[2]));
  };
}

std::int64_t positions(const graph::Shape& x) { return x.elements_per_sample() / x.dims[1]; }

template <class T>
Run<T> group_norm(const Binding<T>& b) {
  const bool affine = b.args().flag("affine");
  const bool keep = b.out.size() > 1;
  const std::int64_t groups = b.args().integer("groups");
  const std::int64_t rows = groups * b.max_batch;
  if (!keep) b.need_scratch(2 * rows);
  return [f = b.k.group_norm, hw = positions(b.x_shape(0)), c = b.x_shape(0).dims[1], groups, keep, rows,
          eps = b.args().real("eps"), x = b.in[0], gamma = input(b, 1, affine), beta = input(b, 2, affine),
          out = b.out](const RunContext<T>& run) {
    f(run.batch, hw, c, groups, eps, run.at(x), gamma.get(run), beta.get(run), run.at(out[0]),
      keep ? run.at(out[1]) : run.scratch, keep ? run.at(out[2]) : run.scratch + rows);
  };
}

template <class T>
Run<T> group_norm_grad(const Binding<T>& b) {
  return [f = b.k.group_norm_grad, hw = positions(b.x_shape(0)), c = b.x_shape(0).dims[1],
          groups = b.args().integer("groups"), in = b.in, gamma = input(b, 4, b.in.size() > 4),
          out = b.out](const RunContext<T>& run) {
    f(run.batch, hw, c, groups, run.at(in[0]), gamma.get(run), run.at(in[1]), run.at(in[2]), run.at(in[3]),
      run.at(out[0]), run.at(out[1]), run.at(out[2]));
  };
}

}  // namespace

template <class T>
void add_norm_kernels(KernelTable<T>& table) {
  table["batch_norm"] = batch_norm<T>;
  table["batch_norm_train"] = batch_norm_train<T>;
  table["batch_norm_grad"] = {batch_norm_grad<T>, {3}};
  table["layer_norm"] = layer_norm<T>;
  table["layer_norm_train"] = layer_norm<T>;
  table["layer_norm_grad"] = {layer_norm_grad<T>, {3}};
  table["group_norm"] = group_norm<T>;
  table["group_norm_train"] = group_norm<T>;
  table["group_norm_grad"] = group_norm_grad<T>;
}

template void add_norm_kernels(KernelTable<float>&);
template void add_norm_kernels(KernelTable<double>&);

}  // namespace lanista::nn
