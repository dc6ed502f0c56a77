#pragma once
// Data movement: nothing is computed, every element is copied once.

#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr int kMaxRank = 8;

template <class T>
inline void permute_dense(int rank, const i64* sizes, const i64* strides, const T* x, T* y) {
  // Drop axes of one element and join neighbours that are dense in x too: longer runs, fewer carries.
  i64 size[kMaxRank + 1], stride[kMaxRank + 1];
  int axes = 0;
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return;
    if (sizes[i] == 1) continue;
    if (axes > 0 && stride[axes - 1] == strides[i] * sizes[i]) {
      size[axes - 1] *= sizes[i];
      stride[axes - 1] = strides[i];
    } else {
      size[axes] = sizes[i];
      stride[axes] = strides[i];
      ++axes;
    }
  }
  if (axes == 0) {
    y[0] = x[0];
    return;
  }
  const i64 run = size[axes - 1], step = stride[axes - 1];
  i64 index[kMaxRank] = {};
  for (;;) {
    if (step == 1) {
      copy<T>(run, x, y);
    } else {
      for (i64 i = 0; i < run; ++i) y[i] = x[i * step];
    }
    y += run;
    int axis = axes - 2;
    for (; axis >= 0; --axis) {
      x += stride[axis];
      if (++index[axis] < size[axis]) break;
      x -= stride[axis] * size[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// Flattened, because not even a standard library accessor may be emitted as a function of this level.
template <class T>
__attribute__((flatten)) void permute(std::span<const i64> sizes, std::span<const i64> x_strides, const T* x, T* y) {
  permute_dense<T>(static_cast<int>(sizes.size()), sizes.data(), x_strides.data(), x, y);
}

template <class T>
void copy_slice(const AxisShape& from, i64 begin, i64 len, const T* x, T* y) {
  for (i64 o = 0; o < from.outer; ++o) {
    copy<T>(len * from.inner, x + (o * from.len + begin) * from.inner, y + o * len * from.inner);
  }
}

template <class T>
void paste_slice(const AxisShape& to, i64 begin, i64 len, const T* x, T* y) {
  for (i64 o = 0; o < to.outer; ++o) {
    copy<T>(len * to.inner, x + o * len * to.inner, y + (o * to.len + begin) * to.inner);
  }
}

template <class T>
void pad_image(i64 n, i64 h, i64 w, i64 c, i64 top, i64 bottom, i64 left, i64 right, const T* x, T* y) {
  const i64 row = (left + w + right) * c;
  for (i64 i = 0; i < n; ++i) {
    fill<T>(top * row, T(0), y);
    y += top * row;
    for (i64 j = 0; j < h; ++j, x += w * c, y += row) {
      fill<T>(left * c, T(0), y);
      copy<T>(w * c, x, y + left * c);
      fill<T>(right * c, T(0), y + (left + w) * c);
    }
    fill<T>(bottom * row, T(0), y);
    y += bottom * row;
  }
}

template <class T>
void crop_image(i64 n, i64 h, i64 w, i64 c, i64 top, i64 bottom, i64 left, i64 right, const T* x, T* y) {
  const i64 kept = (w - left - right) * c;
  for (i64 i = 0; i < n; ++i) {
    for (i64 j = top; j < h - bottom; ++j, y += kept) copy<T>(kept, x + ((i * h + j) * w + left) * c, y);
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
