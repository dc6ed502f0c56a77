#pragma once
// The vector types of the portable level: 4 floats or 2 doubles (SSE2 is part of x86-64), multiply and add apart.

#include <emmintrin.h>

#include <cstdint>

#include "lanista/exec/kernels/family/simd_types.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr int kMaxTileRows = 4;  // the separate product needs a register of its own

template <class T>
struct Simd;
template <class T>
using Wide = Simd<T>;  // what products run on

template <>
struct Simd<float> : VectorTypes<float, 16> {
  static V set(float x) { return _mm_set1_ps(x); }
  static V load(const float* p) { return _mm_loadu_ps(p); }
  static void store(float* p, V v) { _mm_storeu_ps(p, v); }
  static V madd(V a, V b, V c) { return a * b + c; }
  static V sqrt(V x) { return _mm_sqrt_ps(x); }
  static V keep(V v, std::int64_t n) {
    return n == 1   ? V{v[0], 0, 0, 0}
           : n == 2 ? V{v[0], v[1], 0, 0}
           : n == 3 ? V{v[0], v[1], v[2], 0}
                    : (n <= 0 ? V{} : v);
  }
  static V load_part(const float* p, std::int64_t n) {
    return n == 1 ? V{p[0], 0, 0, 0} : n == 2 ? V{p[0], p[1], 0, 0} : V{p[0], p[1], p[2], 0};
  }
  static V load_part_or(const float* p, std::int64_t n, float other) {
    V v = set(other);
    for (std::int64_t i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
  static void store_part(float* p, V v, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  static void store_bytes(std::uint8_t* p, I v) {
    for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(v[i]);
  }
  static I load_bytes(const std::uint8_t* p) { return I{p[0], p[1], p[2], p[3]}; }
};

template <>
struct Simd<double> : VectorTypes<double, 16> {
  static V set(double x) { return _mm_set1_pd(x); }
  static V load(const double* p) { return _mm_loadu_pd(p); }
  static void store(double* p, V v) { _mm_storeu_pd(p, v); }
  static V madd(V a, V b, V c) { return a * b + c; }
  static V sqrt(V x) { return _mm_sqrt_pd(x); }
  static V keep(V v, std::int64_t n) { return n == 1 ? V{v[0], 0} : (n <= 0 ? V{} : v); }
  static V load_part(const double* p, std::int64_t) { return V{p[0], 0}; }
  static V load_part_or(const double* p, std::int64_t, double other) { return V{p[0], other}; }
  static void store_part(double* p, V v, std::int64_t) { p[0] = v[0]; }
  static void store_bytes(std::uint8_t* p, I v) {
    for (int i = 0; i < 2; ++i) p[i] = static_cast<std::uint8_t>(v[i]);
  }
  static I load_bytes(const std::uint8_t* p) { return I{p[0], p[1]}; }
};

/// The operations of a vector type.
inline Simd<float> simd_of(Simd<float>::V) { return {}; }
inline Simd<double> simd_of(Simd<double>::V) { return {}; }

inline float scalar_madd(float a, float b, float c) { return a * b + c; }
inline double scalar_madd(double a, double b, double c) { return a * b + c; }

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
