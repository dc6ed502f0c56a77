#include "lanista/exec/program/layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lanista/base/check.h"
#include "lanista/base/enum_table.h"

namespace lanista::program {
namespace {

std::vector<std::size_t> row_major(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

}  // namespace

std::string_view layout_name(Layout layout) {
  static constexpr EnumTable<Layout, std::string_view, 5> kNames{{{Layout::kPlain, "plain"},
                                                                  {Layout::kImage, "nhwc"},
                                                                  {Layout::kLinearWeight, "in_out"},
                                                                  {Layout::kConvWeight, "khwio"},
                                                                  {Layout::kMap, "hwc"}}};
  return entry_of(kNames, layout);
}

Layout value_layout(const graph::Shape& shape) {
  return shape.rank() == 4 && shape.has_batch() ? Layout::kImage : Layout::kPlain;
}

std::vector<std::size_t> memory_axes(Layout layout, std::size_t rank) {
  const auto of = [rank](std::vector<std::size_t> axes) {
    LANISTA_CHECK(axes.size() == rank,
                  "a layout of rank " + std::to_string(axes.size()) + " for a value of rank " + std::to_string(rank));
    return axes;
  };
  switch (layout) {
    case Layout::kPlain:
      return row_major(rank);
    case Layout::kImage:
      return of({0, 2, 3, 1});
    case Layout::kLinearWeight:
      return of({1, 0});
    case Layout::kConvWeight:
      return rank == 3 ? std::vector<std::size_t>{2, 1, 0} : of({2, 3, 1, 0});
    case Layout::kMap:
      return of({1, 2, 0});
  }
  LANISTA_CHECK(false, "unknown layout");
  return {};
}

ElementCount::ElementCount(const graph::Shape& shape)
    : per_sample(shape.elements_per_sample()), batched(shape.has_batch()) {}

AxisView axis_view(const graph::Shape& shape, Layout layout, std::size_t axis) {
  AxisView view;
  view.batched = shape.has_batch();
  bool before = true;
  for (const std::size_t logical : memory_axes(layout, shape.rank())) {
    if (logical == axis) {
      LANISTA_CHECK(shape.dims[axis] != graph::kBatch, "an axis operator on the batch");
      view.len = shape.dims[axis];
      before = false;
    } else if (shape.dims[logical] != graph::kBatch) {
      (before ? view.outer : view.inner) *= shape.dims[logical];
    }
  }
  LANISTA_CHECK(!before, "axis " + std::to_string(axis) + " of " + shape.text());
  return view;
}

Reorder::Reorder(const std::vector<std::int64_t>& dims, const std::vector<std::size_t>& from,
                 const std::vector<std::size_t>& to) {
  LANISTA_CHECK(from.size() == to.size() && from.size() <= dims.size(), "orders of different axes");
  std::vector<std::int64_t> stride(dims.size(), 0);
  for (auto axis = from.rbegin(); axis != from.rend(); ++axis) {
    stride[*axis] = per_sample_;
    if (dims[*axis] != graph::kBatch) per_sample_ *= dims[*axis];
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t axis = to[i];
    if (dims[axis] == graph::kBatch) {
      LANISTA_CHECK(i == 0 && from[0] == axis, "the batch is not the first axis in memory");
      batched_ = true;
    } else if (dims[axis] != 1) {
      if (rank_ > 0 && strides_[rank_ - 1] == dims[axis] * stride[axis]) {
        sizes_[rank_ - 1] *= dims[axis];
        strides_[rank_ - 1] = stride[axis];
      } else {
        LANISTA_CHECK(rank_ < kMaxRank, "a value of more than " + std::to_string(kMaxRank) + " dimensions");
        sizes_[rank_] = dims[axis];
        strides_[rank_] = stride[axis];
        ++rank_;
      }
    }
  }
}

Reorder Reorder::to_layout(const graph::Shape& shape, Layout layout) {
  return Reorder(shape.dims, row_major(shape.rank()), memory_axes(layout, shape.rank()));
}

Reorder Reorder::from_layout(const graph::Shape& shape, Layout layout) {
  return Reorder(shape.dims, memory_axes(layout, shape.rank()), row_major(shape.rank()));
}

template <class T>
void Reorder::apply(const kernels::Kernels<T>& k, std::int64_t n, const T* x, T* y) const {
  if (is_identity()) {
    std::memcpy(y, x, static_cast<std::size_t>(elements(n)) * sizeof(T));
    return;
  }
  std::array<std::int64_t, kMaxRank + 1> sizes;
  std::array<std::int64_t, kMaxRank + 1> strides;
  std::size_t rank = 0;
  if (batched_) {
    sizes[0] = n;
    strides[0] = per_sample_;
    rank = 1;
  }
  std::copy_n(sizes_.begin(), rank_, sizes.begin() + static_cast<std::ptrdiff_t>(rank));
  std::copy_n(strides_.begin(), rank_, strides.begin() + static_cast<std::ptrdiff_t>(rank));
  rank += rank_;
  k.permute({sizes.data(), rank}, {strides.data(), rank}, x, y);
}

template void Reorder::apply(const kernels::Kernels<float>&, std::int64_t, const float*, float*) const;
template void Reorder::apply(const kernels::Kernels<double>&, std::int64_t, const double*, double*) const;

}  // namespace lanista::program
