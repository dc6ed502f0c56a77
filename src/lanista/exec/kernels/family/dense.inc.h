#pragma once
// Linear layers and matrix products, as sums over ascending k.

#include "lanista/exec/kernels/family/tile.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// c[m][n] (+)= a b with element steps given for both operands; b_n = 1 unless b is transposed (then b_k = 1).
template <class T>
struct Product {
  i64 m, n, k;
  const T* a;
  i64 a_m, a_k;
  const T* b;
  i64 b_k, b_n;
  const T* bias;
  bool relu;
  T* c;
};

constexpr i64 kPanelK = 256;
constexpr i64 kInCacheBytes = 24 * 1024;

template <class T>
inline void product_in_place(const Product<T>& p) {
  Terms<T> terms;
  terms.k = p.k;
  terms.a_k = p.a_k;
  terms.b_k = p.b_k;
  terms.relu = p.relu;
  constexpr i64 kMost = ColumnBlock<T>::kMost;
  for (i64 column = 0; column < p.n; column += kMost) {
    terms.b = p.b + column;
    terms.bias = p.bias != nullptr ? p.bias + column : nullptr;
    tile_rows<T>(terms, {p.a, p.a_m, p.c + column, p.n}, p.m, ColumnBlock<T>(smaller(p.n - column, kMost)));
  }
}

/// Copies `columns` columns of b into a dense panel of full tile width, so that all row tiles find it in L1 (and
/// untransposed). The columns beyond are zero and never stored.
template <class T>
inline void pack_panel(const Product<T>& p, i64 k_begin, i64 k_count, i64 column, i64 columns, T* panel) {
  constexpr i64 kMost = ColumnBlock<T>::kMost;
  const T* from = p.b + k_begin * p.b_k + column * p.b_n;
  if (p.b_n == 1 && columns == kMost) {
    for (i64 k = 0; k < k_count; ++k) {
      __builtin_memcpy(panel + k * kMost, from + k * p.b_k, static_cast<std::size_t>(kMost) * sizeof(T));
    }
    return;
  }
  for (i64 j = 0; j < kMost; ++j) {
    T* to = panel + j;
    if (j >= columns) {
      for (i64 k = 0; k < k_count; ++k) to[k * kMost] = T(0);
      continue;
    }
    const T* source = from + j * p.b_n;
    for (i64 k = 0; k < k_count; ++k) to[k * kMost] = source[k * p.b_k];
  }
}

template <class T>
inline void product_by_panels(const Product<T>& p) {
  constexpr i64 kMost = ColumnBlock<T>::kMost;
  alignas(64) T panel[kPanelK * kMost];
  for (i64 column = 0; column < p.n; column += kMost) {
    const i64 columns = smaller(p.n - column, kMost);
    const ColumnBlock<T> block(columns);
    for (i64 k_begin = 0; k_begin == 0 || k_begin < p.k; k_begin += kPanelK) {
      const i64 k_count = smaller(p.k - k_begin, kPanelK);
      const bool last = k_begin + k_count >= p.k;
      pack_panel<T>(p, k_begin, k_count, column, columns, panel);
      Terms<T> terms;
      terms.k = k_count;
      terms.a_k = p.a_k;
      terms.b_k = kMost;
      terms.b = panel;
      terms.accumulate = k_begin > 0;
      terms.bias = last && p.bias != nullptr ? p.bias + column : nullptr;
      terms.relu = last && p.relu;
      tile_rows<T>(terms, {p.a + k_begin * p.a_k, p.a_m, p.c + column, p.n}, p.m, block);
    }
  }
}

template <class T>
inline void product(const Product<T>& p) {
  const bool big = p.k * p.n * static_cast<i64>(sizeof(T)) > kInCacheBytes && p.m > 2 * kMaxTileRows;
  if (p.b_n != 1 || big) {
    product_by_panels(p);
  } else {
    product_in_place(p);
  }
}

template <class T>
void linear(i64 rows, i64 in, i64 out, const T* x, const T* w, const T* bias, T* y) {
  product<T>({rows, out, in, x, in, 1, w, out, 1, bias, false, y});
}

template <class T>
void linear_relu(i64 rows, i64 in, i64 out, const T* x, const T* w, const T* bias, T* y) {
  product<T>({rows, out, in, x, in, 1, w, out, 1, bias, true, y});
}

template <class T>
void linear_grad_x(i64 rows, i64 in, i64 out, const T* dy, const T* w, T* dx) {
  product<T>({rows, in, out, dy, out, 1, w, 1, out, nullptr, false, dx});
}

template <class T>
void linear_grad_w(i64 rows, i64 in, i64 out, const T* x, const T* dy, T* dw) {
  product<T>({in, out, rows, x, 1, in, dy, out, 1, nullptr, false, dw});
}

template <class T>
void matmul(const MatmulShape& s, const T* a, const T* b, T* c) {
  for (i64 i = 0; i < s.batch; ++i) {
    product<T>({s.m, s.n, s.k, a + i * s.m * s.k, s.transpose_a ? 1 : s.k, s.transpose_a ? s.m : 1, b + i * s.k * s.n,
                s.transpose_b ? 1 : s.n, s.transpose_b ? s.k : 1, nullptr, false, c + i * s.m * s.n});
  }
}

template <class T>
void column_sum(i64 rows, i64 columns, const T* x, T* sum) {
  column_blocks<T, 4>(columns, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V acc[B::n] = {};
    for (i64 r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < B::n; ++j) acc[j] += block.load(x + r * columns + i, j);
    }
    for (int j = 0; j < B::n; ++j) block.store(sum + i, j, acc[j]);
  });
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
