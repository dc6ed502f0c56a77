#include "lanista/exec/program/mean_plan.h"

#include <algorithm>

#include "lanista/base/check.h"

namespace lanista::program {

MeanPlan::MeanPlan(const graph::Shape& x, const std::vector<std::int64_t>& axes, const graph::Shape& y) {
  const auto rank = static_cast<std::int64_t>(x.rank());
  std::vector<bool> reduced(x.rank(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  LANISTA_CHECK(x.has_batch() && !reduced[0], "a mean over the batch of " + x.text());

  const std::vector<std::size_t> memory = memory_axes(value_layout(x), x.rank());
  std::int64_t outer = 1;
  std::int64_t inner = x.elements_per_sample();
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < memory.size();) {
    std::int64_t len = 1;
    const bool run = reduced[memory[i]];
    for (; run && i < memory.size() && reduced[memory[i]]; ++i) len *= x.dims[memory[i]];
    if (run) {
      inner /= len;
      stages_.push_back({outer, len, inner, true});
      max_elements_.per_sample = std::max(max_elements_.per_sample, outer * inner);
    } else {
      if (memory[i] != 0) {
        outer *= x.dims[memory[i]];
        inner /= x.dims[memory[i]];
      }
      left.push_back(memory[i++]);
    }
  }
  max_elements_.per_sample = std::max(max_elements_.per_sample, y.elements_per_sample());

  // Axes of y in x: all axes, or the remaining ones, in logical order.
  std::vector<std::size_t> axis_of;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (y.rank() == x.rank() || !reduced[axis]) axis_of.push_back(axis);
  }
  LANISTA_CHECK(axis_of.size() == y.rank(), "a mean of " + x.text() + " cannot be " + y.text());
  std::vector<std::size_t> order;
  for (const std::size_t axis : memory_axes(value_layout(y), y.rank())) {
    if (!reduced[axis_of[axis]]) order.push_back(axis_of[axis]);
  }
  final_reorder_ = Reorder(x.dims, left, order);
  initial_reorder_ = Reorder(x.dims, order, left);
}

template <class T>
void MeanPlan::mean(const kernels::Kernels<T>& k, std::int64_t n, const T* x, T* y, T* scratch) const {
  T* const halves[] = {scratch, scratch + buffer_elements(n)};
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    T* result = i + 1 == stages_.size() && final_reorder_.is_identity() ? y : halves[i % 2];
    k.mean_axis(stages_[i].at(n), x, result);
    x = result;
  }
  if (x != y) final_reorder_.apply(k, n, x, y);
}

template <class T>
void MeanPlan::gradient(const kernels::Kernels<T>& k, std::int64_t n, const T* dy, T* dx, T* scratch) const {
  T* const halves[] = {scratch, scratch + buffer_elements(n)};
  if (stages_.empty() || !initial_reorder_.is_identity()) {
    T* restored = stages_.empty() ? dx : halves[stages_.size() % 2];
    initial_reorder_.apply(k, n, dy, restored);
    dy = restored;
  }
  for (std::size_t i = stages_.size(); i-- > 0;) {
    T* result = i == 0 ? dx : halves[i % 2];
    k.mean_axis_grad(stages_[i].at(n), dy, result);
    dy = result;
  }
}

template void MeanPlan::mean(const kernels::Kernels<float>&, std::int64_t, const float*, float*, float*) const;
template void MeanPlan::mean(const kernels::Kernels<double>&, std::int64_t, const double*, double*, double*) const;
template void MeanPlan::gradient(const kernels::Kernels<float>&, std::int64_t, const float*, float*, float*) const;
template void MeanPlan::gradient(const kernels::Kernels<double>&, std::int64_t, const double*, double*, double*) const;

}  // namespace lanista::program
