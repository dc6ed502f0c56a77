#pragma once
// Image resize with channels in the vector. Positions are computed in integers, so rounding never changes the cell that
// is read.

#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// The two cells of an axis around a position. `part` is the weight of `high`.
template <class T>
struct Between {
  i64 low, high;
  T part;
};

/// Source position (position + 1/2) len / outputs - 1/2, limited to the cells of the axis.
template <class T>
inline Between<T> between(i64 position, i64 outputs, i64 len) {
  const i64 halves = larger(0, (2 * position + 1) * len - outputs);
  const i64 low = halves / (2 * outputs);
  return {low, smaller(low + 1, len - 1), static_cast<T>(halves % (2 * outputs)) / static_cast<T>(2 * outputs)};
}

/// Calls f(image, oh, ow, out) for every output in ascending order: offset of its image, row, column, output offset.
template <class F>
inline void for_outputs(const ResizeShape& s, F f) {
  for (i64 n = 0; n < s.n; ++n) {
    for (i64 oh = 0; oh < s.oh; ++oh) {
      for (i64 ow = 0; ow < s.ow; ++ow) f(n * s.h * s.w * s.c, oh, ow, ((n * s.oh + oh) * s.ow + ow) * s.c);
    }
  }
}

/// The four cells around an output, row by row, and their weights.
template <class T>
struct Corners {
  i64 cell[4];
  T weight[4];

  Corners(const ResizeShape& s, i64 image, i64 oh, i64 ow) {
    const Between<T> h = between<T>(oh, s.oh, s.h), w = between<T>(ow, s.ow, s.w);
    const i64 rows[2] = {h.low, h.high}, columns[2] = {w.low, w.high};
    const T row_weight[2] = {T(1) - h.part, h.part}, column_weight[2] = {T(1) - w.part, w.part};
    for (int k = 0; k < 4; ++k) {
      cell[k] = image + (rows[k / 2] * s.w + columns[k % 2]) * s.c;
      weight[k] = row_weight[k / 2] * column_weight[k % 2];
    }
  }
};

inline i64 nearest_cell(const ResizeShape& s, i64 image, i64 oh, i64 ow) {
  return image + (oh * s.h / s.oh * s.w + ow * s.w / s.ow) * s.c;
}

template <class T>
void resize_nearest(const ResizeShape& s, const T* x, T* y) {
  for_outputs(s,
              [&](i64 image, i64 oh, i64 ow, i64 out) { copy<T>(s.c, x + nearest_cell(s, image, oh, ow), y + out); });
}

/// Adds to every input cell the gradients of the outputs that read it, in ascending order of the outputs.
template <class T>
void resize_nearest_grad(const ResizeShape& s, const T* dy, T* dx) {
  fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  for_outputs(s, [&](i64 image, i64 oh, i64 ow, i64 out) {
    T* to = dx + nearest_cell(s, image, oh, ow);
    sweep<T>(s.c, [&](auto lanes, i64 i) { lanes.store(to + i, lanes.load(to + i) + lanes.load(dy + out + i)); });
  });
}

template <class T>
void resize_bilinear(const ResizeShape& s, const T* x, T* y) {
  for_outputs(s, [&](i64 image, i64 oh, i64 ow, i64 out) {
    const Corners<T> at(s, image, oh, ow);
    sweep<T>(s.c, [&](auto lanes, i64 i) {
      auto sum = lanes.set(T(0));
      for (int k = 0; k < 4; ++k) sum = madd(at.weight[k], lanes.load(x + at.cell[k] + i), sum);
      lanes.store(y + out + i, sum);
    });
  });
}

template <class T>
void resize_bilinear_grad(const ResizeShape& s, const T* dy, T* dx) {
  fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  for_outputs(s, [&](i64 image, i64 oh, i64 ow, i64 out) {
    const Corners<T> at(s, image, oh, ow);
    for (int k = 0; k < 4; ++k) {
      T* to = dx + at.cell[k];
      const T weight = at.weight[k];
      sweep<T>(s.c, [&](auto lanes, i64 i) {
        lanes.store(to + i, madd(weight, lanes.load(dy + out + i), lanes.load(to + i)));
      });
    }
  });
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
