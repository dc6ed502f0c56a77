#pragma once
// Building blocks of every kernel: whole and partial vectors, sweeps over arrays, and sums with the same order at every
// vector width. Everything in a family header is in an unnamed namespace of its level. Else the linker could merge a
// function with that of another level and run instructions that the CPU lacks. The source file of the level defines
// LANISTA_KERNEL_LEVEL and includes its vector types (simd_*.inc.h) first.

#include <cstddef>
#include <cstdint>

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

using i64 = std::int64_t;

inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }
inline i64 larger(i64 a, i64 b) { return a > b ? a : b; }

/// Compile-time integer as a function argument.
template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

/// Vector type of sums across a vector; everything else uses Wide<T>.
template <class T>
using Vec = typename Simd<T>::V;

template <class V>
using SimdOf = decltype(simd_of(V{}));

/// Copies a scalar to every vector lane; returns a vector unchanged.
template <class V>
inline V spread(V v) {
  return v;
}
template <class V>
inline V spread(typename SimdOf<V>::Element x) {
  return SimdOf<V>::set(x);
}

/// a b + c as the level adds a term. A scalar argument is copied to every vector lane.
template <class A, class B, class C>
inline auto madd(A a, B b, C c) {
  using V = decltype(a * b + c);
  return SimdOf<V>::madd(spread<V>(a), spread<V>(b), spread<V>(c));
}

template <class V>
inline V sqrt_of(V x) {
  return SimdOf<V>::sqrt(x);
}

/// A whole vector: all its lanes are inside the array.
template <class S>
struct WholeLanes {
  using T = typename S::Element;
  using V = typename S::V;
  static constexpr i64 n = S::kWidth;
  V load(const T* p) const { return S::load(p); }
  V load_or(const T* p, T) const { return S::load(p); }
  V set(T x) const { return S::set(x); }
  void store(T* p, V v) const { S::store(p, v); }
  V keep(V v) const { return v; }
};

/// A partial vector: the first n lanes are inside the array. The others read as zero and are not written.
template <class S>
struct FirstLanes {
  using T = typename S::Element;
  using V = typename S::V;
  i64 n;
  V load(const T* p) const { return S::load_part(p, n); }
  V load_or(const T* p, T other) const { return S::load_part_or(p, n, other); }
  V set(T x) const { return S::set(x); }
  void store(T* p, V v) const { S::store_part(p, v, n); }
  V keep(V v) const { return S::keep(v, n); }
};

/// Calls f(lanes, i) for the vectors of S that start at i = 0, W, 2 W, ...
template <class S, class F>
inline void sweep_by(i64 count, F f) {
  constexpr i64 kW = S::kWidth;
  i64 i = 0;
  for (; i + kW <= count; i += kW) f(WholeLanes<S>{}, i);
  if (i < count) f(FirstLanes<S>{count - i}, i);
}

template <class T, class F>
inline void sweep(i64 count, F f) {
  sweep_by<Wide<T>>(count, f);
}

/// Calls f(number, first) over [0, count): four neighbours at a time, then one at a time. The sums of four neighbours
/// do not wait for each other. `number` is a Constant.
template <class F>
inline void for_quads(i64 count, F f) {
  i64 first = 0;
  for (; first + 4 <= count; first += 4) f(Constant<4>{}, first);
  for (; first < count; ++first) f(Constant<1>{}, first);
}

/// Reduces with acc = f(lanes, i, acc) into eight interleaved partial results, at every vector width. Element i belongs
/// to partial result i mod 8.
template <class T, class F>
inline void eight_partials(i64 len, Vec<T> (&partial)[8 / Simd<T>::kWidth], F f) {
  constexpr i64 kW = Simd<T>::kWidth;
  constexpr i64 kSlots = 8 / kW;
  i64 i = 0;
  for (; i + 8 <= len; i += 8) {
#pragma GCC unroll 4
    for (i64 j = 0; j < kSlots; ++j) partial[j] = f(WholeLanes<Simd<T>>{}, i + j * kW, partial[j]);
  }
#pragma GCC unroll 4
  for (i64 j = 0; j < kSlots; ++j) {
    if (i + kW <= len) {
      partial[j] = f(WholeLanes<Simd<T>>{}, i, partial[j]);
    } else if (i < len) {
      partial[j] = f(FirstLanes<Simd<T>>{len - i}, i, partial[j]);
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
template <class Lanes, class F>
inline auto row_sum(Lanes, i64 rows, F f) {
  typename Lanes::V a = {}, b = {}, c = {}, d = {};
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

/// Some neighbouring vectors of a row, held in registers together so that a pass over rows reads whole cache lines.
template <class L, int kVectors>
struct Block {
  using T = typename L::T;
  using V = typename L::V;
  static constexpr int n = kVectors;
  L lanes;
  V load(const T* p, int j) const { return lanes.load(p + j * Wide<T>::kWidth); }
  void store(T* p, int j, V v) const { lanes.store(p + j * Wide<T>::kWidth, v); }
};

/// Calls f(block, i) over the columns of a row, up to kVectors vectors at a time.
template <class T, int kVectors, class F>
inline void column_blocks(i64 columns, F f) {
  constexpr i64 kW = Wide<T>::kWidth;
  i64 i = 0;
  for (; i + kVectors * kW <= columns; i += kVectors * kW) f(Block<WholeLanes<Wide<T>>, kVectors>{}, i);
  for (; i + kW <= columns; i += kW) f(Block<WholeLanes<Wide<T>>, 1>{}, i);
  if (i < columns) f(Block<FirstLanes<Wide<T>>, 1>{{columns - i}}, i);
}

/// `row_sum` of a block: sum[j] = f(r, j, acc) over the rows, for every vector j.
template <class B, class F>
inline void row_sums(B, i64 rows, typename B::V* sum, F f) {
  typename B::V acc[4][B::n] = {};
  i64 r = 0;
  for (; r + 4 <= rows; r += 4) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
#pragma GCC unroll 4
      for (int j = 0; j < B::n; ++j) acc[q][j] = f(r + q, j, acc[q][j]);
    }
  }
  for (int q = 0; r + q < rows; ++q) {
    for (int j = 0; j < B::n; ++j) acc[q][j] = f(r + q, j, acc[q][j]);
  }
  for (int j = 0; j < B::n; ++j) sum[j] = (acc[0][j] + acc[2][j]) + (acc[1][j] + acc[3][j]);
}

template <class T>
inline void fill(i64 count, T value, T* y) {
  sweep<T>(count, [&](auto lanes, i64 i) { lanes.store(y + i, lanes.set(value)); });
}

template <class T>
inline void copy(i64 count, const T* x, T* y) {
  __builtin_memcpy(y, x, static_cast<std::size_t>(count) * sizeof(T));
}

/// max(x, 0). NaN is returned unchanged; both zeros become +0.
template <class V>
inline V relu_of(V x) {
  return x <= typename SimdOf<V>::Element(0) ? V{} : x;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
