// Batch, layer and group normalisation.
#include <cmath>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/kernel_table.h"

namespace lanista::program {
namespace {

// A value that may be missing; then its pointer is null.
struct Optional {
  Address place;
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
  ElementCount rows;
  std::int64_t c;
};

BatchNormSize batch_norm_size(const graph::Shape& x) {
  ElementCount rows(x);
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
          momentum = b.lane_attr("momentum"), x = b.in[0], gamma = input(b, 1, affine), beta = input(b, 2, affine),
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

// The number of values of a partial of batch norm: a count of rows, and two numbers a channel.
std::int64_t numbers_of(const BatchNormSize& size) { return 1 + 2 * size.c; }

template <class T>
void give_pairs(std::int64_t rows, std::int64_t c, const T* first, const T* second, double* value) {
  value[0] = static_cast<double>(rows);
  for (std::int64_t j = 0; j < c; ++j) {
    value[1 + j] = static_cast<double>(first[j]);
    value[1 + c + j] = static_cast<double>(second[j]);
  }
}

void add_numbers(std::int64_t num_values, double* first, const double* second) {
  for (std::int64_t i = 0; i < num_values; ++i) first[i] += second[i];
}

// Merges counts, means and sums of squared distances of two sets: Chan, Golub, LeVeque: Algorithms for computing the
// sample variance: analysis and recommendations (The American Statistician 37, 1983), formula 2.1. Its error grows with
// the condition of the variance, not with its square as for sums of squares. The mean moves by a difference, so equal
// values have variance zero for any division.
void merge_moments(std::int64_t num_values, double* first, const double* second) {
  const std::int64_t c = num_values / 2;
  const double rows = first[0] + second[0];
  const double share = second[0] / rows, weight = first[0] * share;
  for (std::int64_t j = 1; j <= c; ++j) {
    const double distance = second[j] - first[j];
    first[j] += distance * share;
    first[c + j] += second[c + j] + distance * distance * weight;
  }
  first[0] = rows;
}

template <class T>
BatchReduction<T> batch_norm_train_parts(const Binding<T>& b) {
  const bool affine = b.args().flag("affine");
  const std::size_t next = affine ? 3 : 1;
  const BatchNormSize size = batch_norm_size(b.x_shape(0));
  BatchReduction<T> reduction{
      .num_values = numbers_of(size), .compute_partial = {}, .merge = merge_moments, .apply_result = {}};
  reduction.compute_partial = [f = b.k.batch_norm_moments, size, x = b.in[0], out = b.out](const RunContext<T>& run,
                                                                                           double* value) {
    const std::int64_t rows = size.rows.at(run.batch);
    f(rows, size.c, run.at(x), run.at(out[1]), run.at(out[2]));
    give_pairs(rows, size.c, run.at(out[1]), run.at(out[2]), value);
  };
  reduction.apply_result = [f = b.k.batch_norm_apply, size, eps = static_cast<T>(b.args().real("eps")),
                            momentum = b.lane_attr("momentum"), x = b.in[0], gamma = input(b, 1, affine),
                            beta = input(b, 2, affine), old_mean = b.in[next], old_var = b.in[next + 1],
                            out = b.out](const RunContext<T>& run, const double* value) {
    const double rows = value[0], taken = momentum.of(run);
    T* mean = run.at(out[1]);
    T* inv_std = run.at(out[2]);
    for (std::int64_t j = 0; j < size.c; ++j) {
      const double m = value[1 + j], squares = value[1 + size.c + j];
      mean[j] = static_cast<T>(m);
      inv_std[j] = 1 / std::sqrt(static_cast<T>(squares / rows) + eps);
      const double was_mean = static_cast<double>(run.at(old_mean)[j]), was = static_cast<double>(run.at(old_var)[j]);
      run.at(out[3])[j] = static_cast<T>((1 - taken) * was_mean + taken * m);
      // One value has no variance: the running variance stays.
      run.at(out[4])[j] = static_cast<T>(rows > 1 ? (1 - taken) * was + taken * (squares / (rows - 1)) : was);
    }
    f(size.rows.at(run.batch), size.c, run.at(x), gamma.get(run), beta.get(run), mean, inv_std, run.at(out[0]));
  };
  return reduction;
}

template <class T>
BatchReduction<T> batch_norm_grad_parts(const Binding<T>& b) {
  const BatchNormSize size = batch_norm_size(b.x_shape(0));
  BatchReduction<T> reduction{
      .num_values = numbers_of(size), .compute_partial = {}, .merge = add_numbers, .apply_result = {}};
  b.reserve_scratch(2 * size.c);
  reduction.compute_partial = [f = b.k.batch_norm_grad_sums, size, in = b.in, out = b.out](const RunContext<T>& run,
                                                                                           double* value) {
    const std::int64_t rows = size.rows.at(run.batch);
    f(rows, size.c, run.at(in[0]), run.at(in[1]), run.at(in[2]), run.at(in[3]), run.at(out[1]), run.at(out[2]));
    give_pairs(rows, size.c, run.at(out[1]), run.at(out[2]), value);
  };
  reduction.apply_result = [f = b.k.batch_norm_grad_apply, size, in = b.in, gamma = input(b, 4, b.in.size() > 4),
                            dx = b.out[0]](const RunContext<T>& run, const double* value) {
    for (std::int64_t i = 0; i < 2 * size.c; ++i) run.scratch[i] = static_cast<T>(value[1 + i] / value[0]);
    f(size.rows.at(run.batch), size.c, run.at(in[0]), gamma.get(run), run.at(in[1]), run.at(in[2]), run.scratch,
      run.scratch + size.c, run.at(in[3]), run.at(dx));
  };
  return reduction;
}

// The last `axes` dimensions are normalised. A whole image is one row in any layout.
struct LayerNormSize {
  ElementCount rows;
  std::int64_t len = 1;
};

LayerNormSize layer_norm_size(const graph::Shape& x, std::int64_t axes) {
  LayerNormSize size{ElementCount(x), 1};
  for (auto dim = x.dims.rbegin(); axes > 0; --axes, ++dim) size.len *= *dim;
  size.rows.per_sample /= size.len;
  return size;
}

// Writes statistics to outputs 1 and 2, or in inference to scratch memory.
template <class T>
Run<T> layer_norm(const Binding<T>& b) {
  const LayerNormSize size = layer_norm_size(b.x_shape(0), b.args().integer("axes"));
  const bool affine = b.args().flag("affine");
  const bool keep = b.out.size() > 1;
  const std::int64_t rows = size.rows.at(b.max_batch);
  if (!keep) b.reserve_scratch(2 * rows);
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
  if (!keep) b.reserve_scratch(2 * rows);
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
  table["batch_norm_train"] = {batch_norm_train<T>, {}, batch_norm_train_parts<T>};
  table["batch_norm_grad"] = {batch_norm_grad<T>, {3}, batch_norm_grad_parts<T>};
  table["layer_norm"] = layer_norm<T>;
  table["layer_norm_train"] = layer_norm<T>;
  table["layer_norm_grad"] = {layer_norm_grad<T>, {3}};
  table["group_norm"] = group_norm<T>;
  table["group_norm_train"] = group_norm<T>;
  table["group_norm_grad"] = group_norm_grad<T>;
  for (const char* name : {"layer_norm", "layer_norm_train"}) {
    table[name].reads_if_image_input(1, Layout::kMap).reads_if_image_input(2, Layout::kMap);
  }
  table["layer_norm_grad"].reads_if_image_input(4, Layout::kMap);
}

template void add_norm_kernels(KernelTable<float>&);
template void add_norm_kernels(KernelTable<double>&);

}  // namespace lanista::program
