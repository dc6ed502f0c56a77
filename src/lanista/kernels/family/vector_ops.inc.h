#pragma once
// What every kernel is made of: whole and partial vectors, sweeps over arrays, and sums whose order is the same at
// every vector width. Everything in a family header lives in an unnamed namespace of its level: a function that the
// linker could merge with the same function of another level would run instructions that the CPU may lack. The source
// file of the level has chosen LANISTA_KERNEL_LEVEL and included its vector types (simd_*.inc.h) before.

#include <cstddef>
#include <cstdint>

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

using i64 = std::int64_t;

inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }
inline i64 larger(i64 a, i64 b) { return a > b ? a : b; }

template <class T>
using Vec = typename Simd<T>::V;

/// All lanes of a vector are inside the array.
template <class T>
struct WholeLanes {
  using S = Simd<T>;
  using V = typename S::V;
  static constexpr i64 n = S::kWidth;
  V load(const T* p) const { return S::load(p); }
  V load_or(const T* p, T) const { return S::load(p); }
  void store(T* p, V v) const { S::store(p, v); }
  V keep(V v) const { return v; }
};

/// Only the first n lanes are; the others read as zero and are not written.
template <class T>
struct FirstLanes {
  using S = Simd<T>;
  using V = typename S::V;
  i64 n;
  V load(const T* p) const { return S::load_part(p, n); }
  V load_or(const T* p, T other) const {
    V v = S::load_part(p, n);
    for (i64 i = n; i < S::kWidth; ++i) v[i] = other;
    return v;
  }
  void store(T* p, V v) const { S::store_part(p, v, n); }
  V keep(V v) const { return S::keep(v, n); }
};

/// f(lanes, i) over vectors that start at i = 0, W, 2 W, ...
template <class T, class F>
inline void sweep(i64 count, F f) {
  constexpr i64 kW = Simd<T>::kWidth;
  i64 i = 0;
  for (; i + kW <= count; i += kW) f(WholeLanes<T>{}, i);
  if (i < count) f(FirstLanes<T>{count - i}, i);
}

/// acc = f(lanes, i, acc) over eight interleaved partial results (element i belongs to number i mod 8), whatever the
/// width is.
template <class T, class F>
inline void eight_partials(i64 len, Vec<T> (&partial)[8 / Simd<T>::kWidth], F f) {
  constexpr i64 kW = Simd<T>::kWidth;
  constexpr i64 kSlots = 8 / kW;
  i64 i = 0;
  for (; i + 8 <= len; i += 8) {
#pragma GCC unroll 4
    for (i64 j = 0; j < kSlots; ++j) partial[j] = f(WholeLanes<T>{}, i + j * kW, partial[j]);
  }
#pragma GCC unroll 4
  for (i64 j = 0; j < kSlots; ++j) {
    if (i + kW <= len) {
      partial[j] = f(WholeLanes<T>{}, i, partial[j]);
    } else if (i < len) {
      partial[j] = f(FirstLanes<T>{len - i}, i, partial[j]);
    }
    i += kW;
  }
}

/// Sum as a fixed tree: eight partial sums, then halves. f(lanes, i, acc) must leave lanes outside the array alone.
template <class T, class F>
inline T tree_sum(i64 len, F f) {
  constexpr i64 kSlots = 8 / Simd<T>::kWidth;
  Vec<T> partial[kSlots] = {};
  eight_partials<T>(len, partial, f);
  T p[8];
#pragma GCC unroll 4
  for (i64 j = 0; j < kSlots; ++j) Simd<T>::store(p + j * Simd<T>::kWidth, partial[j]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

/// Sum over rows, columns in the vector: four interleaved partial sums (row r belongs to number r mod 4).
/// acc = f(r, acc).
template <class T, class F>
inline Vec<T> row_sum(i64 rows, F f) {
  Vec<T> a = {}, b = {}, c = {}, d = {};
  i64 r = 0;
  for (; r + 4 <= rows; r += 4) {
    a = f(r, a);
    b = f(r + 1, b);
    c = f(r + 2, c);
    d = f(r + 3, d);
  }
  if (r < rows) a = f(r, a);
  if (r + 1 < rows) b = f(r + 1, b);
  if (r + 2 < rows) c = f(r + 2, c);
  return (a + c) + (b + d);
}

template <class T>
inline void fill(i64 count, T value, T* y) {
  const Vec<T> v = Simd<T>::set(value);
  sweep<T>(count, [&](auto lanes, i64 i) { lanes.store(y + i, v); });
}

template <class T>
inline void copy(i64 count, const T* x, T* y) {
  __builtin_memcpy(y, x, static_cast<std::size_t>(count) * sizeof(T));
}

/// Not a number stays; both zeros become +0.
template <class T, class V = Vec<T>>
inline V relu_of(V x) {
  return x <= T(0) ? V{} : x;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
