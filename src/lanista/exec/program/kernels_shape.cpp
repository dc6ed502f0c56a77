// Operators that move values: reshape, transpose, concat, slice, pad; and means over axes.
#include <cstring>

#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/mean_plan.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::program {
namespace {

// A copy through row-major logical order, in which both shapes agree.
template <class T>
Run<T> reshape(const Binding<T>& b) {
  const Reorder first = Reorder::from_layout(b.x_shape(0), value_layout(b.x_shape(0)));
  const Reorder second = Reorder::to_layout(b.y_shape(), value_layout(b.y_shape()));
  const bool twice = !first.is_identity() && !second.is_identity();
  if (twice) b.reserve_scratch(first.elements(b.max_batch));
  return [table = &b.k, first, second, twice, x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    const T* from = run.at(x);
    if (twice) {
      first.apply(*table, run.batch, from, run.scratch);
      from = run.scratch;
    }
    const Reorder& final_reorder = second.is_identity() ? first : second;
    final_reorder.apply(*table, run.batch, from, run.at(y));
  };
}

template <class T>
Run<T> transpose(const Binding<T>& b) {
  const graph::Shape& x_shape = b.x_shape(0);
  const std::vector<std::int64_t>& axes = b.args().list("axes");
  std::vector<std::size_t> order;
  for (const std::size_t axis : memory_axes(value_layout(b.y_shape()), axes.size())) {
    order.push_back(static_cast<std::size_t>(axes[axis]));
  }
  const Reorder reorder(x_shape.dims, memory_axes(value_layout(x_shape), x_shape.rank()), order);
  return [table = &b.k, reorder, x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    reorder.apply(*table, run.batch, run.at(x), run.at(y));
  };
}

template <class T>
AxisView view_along_axis(const Binding<T>& b, const graph::Shape& shape) {
  const std::int64_t axis = b.args().integer("axis");
  const std::int64_t rank = static_cast<std::int64_t>(shape.rank());
  return axis_view(shape, value_layout(shape), static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
}

template <class T>
Run<T> concat(const Binding<T>& b) {
  std::vector<std::int64_t> lens;
  for (std::size_t i = 0; i < b.in.size(); ++i) lens.push_back(view_along_axis(b, b.x_shape(i)).len);
  return [f = b.k.paste_slice, view = view_along_axis(b, b.y_shape()), lens, in = b.in,
          y = b.out[0]](const RunContext<T>& run) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      f(view.at(run.batch), begin, lens[i], run.at(in[i]), run.at(y));
      begin += lens[i];
    }
  };
}

template <class T>
Run<T> slice(const Binding<T>& b) {
  return [f = b.k.copy_slice, view = view_along_axis(b, b.x_shape(0)), range = *graph::ops::slice_range(b.args()),
          x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    f(view.at(run.batch), range.begin, range.len, run.at(x), run.at(y));
  };
}

template <class T>
Run<T> slice_grad(const Binding<T>& b) {
  return [f = b.k.paste_slice, count = ElementCount(b.y_shape()), view = view_along_axis(b, b.y_shape()),
          begin = b.args().integer("start"), len = view_along_axis(b, b.x_shape(0)).len, dy = b.in[0],
          dx = b.out[0]](const RunContext<T>& run) {
    std::memset(run.at(dx), 0, static_cast<std::size_t>(count.at(run.batch)) * sizeof(T));
    f(view.at(run.batch), begin, len, run.at(dy), run.at(dx));
  };
}

// Both kernels receive the sizes of the input: the image before padding, or the image that is cropped.
template <class T, auto kernel>
Run<T> frame(const Binding<T>& b) {
  const std::vector<std::int64_t> pads = b.args().list("pads");
  return [f = b.k.*kernel, pads, dims = b.x_shape(0).dims, x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    f(run.batch, dims[2], dims[3], dims[1], pads[0], pads[1], pads[2], pads[3], run.at(x), run.at(y));
  };
}

template <class T>
Run<T> mean_over(const Binding<T>& b, const std::vector<std::int64_t>& axes) {
  const MeanPlan plan(b.x_shape(0), axes, b.y_shape());
  b.reserve_scratch(plan.scratch(b.max_batch));
  return [table = &b.k, plan, x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    plan.mean(*table, run.batch, run.at(x), run.at(y), run.scratch);
  };
}

template <class T>
Run<T> mean(const Binding<T>& b) {
  return mean_over(b, b.args().list("axes"));
}

template <class T>
Run<T> global_avg_pool(const Binding<T>& b) {
  return b.x_shape(0).rank() == 4 ? mean_over(b, {2, 3}) : mean_over(b, {2});
}

template <class T>
Run<T> mean_grad(const Binding<T>& b) {
  const MeanPlan plan(b.y_shape(), b.args().list("axes"), b.x_shape(0));
  b.reserve_scratch(plan.scratch(b.max_batch));
  return [table = &b.k, plan, dy = b.in[0], dx = b.out[0]](const RunContext<T>& run) {
    plan.gradient(*table, run.batch, run.at(dy), run.at(dx), run.scratch);
  };
}

}  // namespace

template <class T>
void add_shape_kernels(KernelTable<T>& table) {
  using K = kernels::Kernels<T>;
  table["flatten"] = reshape<T>;
  table["reshape"] = reshape<T>;
  table["transpose"] = transpose<T>;
  table["concat"] = concat<T>;
  table["slice"] = slice<T>;
  table["slice_grad"] = slice_grad<T>;
  table["pad"] = frame<T, &K::pad_image>;
  table["crop"] = frame<T, &K::crop_image>;
  table["mean"] = mean<T>;
  table["mean_grad"] = mean_grad<T>;
  table["global_avg_pool"] = global_avg_pool<T>;
}

template void add_shape_kernels(KernelTable<float>&);
template void add_shape_kernels(KernelTable<double>&);

}  // namespace lanista::program
