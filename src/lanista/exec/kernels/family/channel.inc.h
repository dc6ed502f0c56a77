#pragma once
// Kernels along the channels: gates, an offset a channel, and normalisation over neighbouring channels.

#include "lanista/exec/kernels/family/elementary.inc.h"
#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T>
void row_add(i64 rows, i64 columns, const T* x, const T* row, T* y) {
  for (i64 r = 0; r < rows; ++r) {
    sweep<T>(columns, [&](auto lanes, i64 i) {
      lanes.store(y + r * columns + i, lanes.load(x + r * columns + i) + lanes.load(row + i));
    });
  }
}

template <class T>
void gate(i64 n, i64 rows, i64 c, const T* x, const T* g, T* y) {
  for (i64 s = 0; s < n; ++s, g += c) {
    for (i64 r = 0; r < rows; ++r, x += c, y += c) {
      sweep<T>(c, [&](auto lanes, i64 i) { lanes.store(y + i, lanes.load(x + i) * lanes.load(g + i)); });
    }
  }
}

template <class T>
void gate_grad(i64 n, i64 rows, i64 c, const T* x, const T* dy, T* dg) {
  for (i64 s = 0; s < n; ++s, x += rows * c, dy += rows * c, dg += c) {
    sweep<T>(c, [&](auto lanes, i64 i) {
      lanes.store(dg + i, row_sum(lanes, rows, [&](i64 r, auto sum) {
                    return madd(lanes.load(x + r * c + i), lanes.load(dy + r * c + i), sum);
                  }));
    });
  }
}

/// A row of c numbers between zeros, so that every window of neighbours is read without a border check.
template <class T>
struct PaddedRow {
  T* cells;  // c + size - 1
  i64 before, c, size;

  PaddedRow(T* place, const LrnShape& s, i64 zeros_before) : cells(place), before(zeros_before), c(s.c), size(s.size) {
    fill<T>(c + size - 1, T(0), cells);
  }
  T* row() const { return cells + before; }
  /// The plain ascending sum of the window of element i.
  template <class Lanes>
  auto window_sum(Lanes lanes, i64 i) const {
    auto sum = lanes.set(T(0));
    for (i64 k = 0; k < size; ++k) sum += lanes.load(cells + i + k);
    return sum;
  }
};

template <class T>
struct LrnRow {
  PaddedRow<T> squares;
  T slope, bias, beta;

  LrnRow(const LrnShape& s, T* scratch)
      : squares(scratch, s, (s.size - 1) / 2),
        slope(static_cast<T>(s.alpha / static_cast<double>(s.size))),
        bias(static_cast<T>(s.bias)),
        beta(static_cast<T>(s.beta)) {}

  void load(const T* x) const {
    sweep<T>(squares.c, [&](auto lanes, i64 i) {
      const auto v = lanes.load(x + i);
      lanes.store(squares.row() + i, v * v);
    });
  }
  template <class Lanes>
  auto base(Lanes lanes, i64 i) const {
    return madd(squares.window_sum(lanes, i), slope, bias);
  }
  /// base ^ -beta
  template <class V>
  V shrink(V base) const {
    return exp_of(log_of(base) * -beta);
  }
};

template <class T>
void lrn(const LrnShape& s, const T* x, T* y, T* scratch) {
  const LrnRow<T> row(s, scratch);
  for (i64 r = 0; r < s.rows; ++r, x += s.c, y += s.c) {
    row.load(x);
    sweep<T>(s.c, [&](auto lanes, i64 i) { lanes.store(y + i, lanes.load(x + i) * row.shrink(row.base(lanes, i))); });
  }
}

/// Gradient of `lrn`, with b the base of a channel: dx_i = dy_i b_i^-beta - 2 slope beta x_i s_i. Here s_i is the sum
/// of dy_j x_j b_j^(-beta - 1) over the channels j with i in their window.
template <class T>
void lrn_grad(const LrnShape& s, const T* x, const T* dy, T* dx, T* scratch) {
  const LrnRow<T> row(s, scratch);
  const PaddedRow<T> shares(scratch + s.c + s.size - 1, s, s.size - 1 - (s.size - 1) / 2);
  const T factor = row.slope * (T(-2) * row.beta);
  for (i64 r = 0; r < s.rows; ++r, x += s.c, dy += s.c, dx += s.c) {
    row.load(x);
    sweep<T>(s.c, [&](auto lanes, i64 i) {
      const auto base = row.base(lanes, i);
      const auto own = lanes.load(dy + i) * row.shrink(base);
      lanes.store(dx + i, own);
      lanes.store(shares.row() + i, own * lanes.load(x + i) / base);
    });
    sweep<T>(s.c, [&](auto lanes, i64 i) {
      lanes.store(dx + i, madd(lanes.load(x + i) * factor, shares.window_sum(lanes, i), lanes.load(dx + i)));
    });
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
