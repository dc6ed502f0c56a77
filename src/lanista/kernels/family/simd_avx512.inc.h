#pragma once
// The vector types of the AVX-512 level. Products run on whole 512-bit vectors (Wide); everything else keeps the
// vectors of AVX2, since sums across a vector are defined over eight partial results.

#include "lanista/kernels/family/simd_avx2.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr int kMaxTileRows = 8;  // 8 x 2 accumulators hide the latency of two multiply-add units

template <class T>
struct Wide;

template <>
struct Wide<float> {
  typedef float V __attribute__((vector_size(64)));
  static constexpr std::int64_t kWidth = 16;

  static __mmask16 mask(std::int64_t n) { return static_cast<__mmask16>((1U << static_cast<unsigned>(n)) - 1U); }
  static V set(float x) { return _mm512_set1_ps(x); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V madd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V load_part(const float* p, std::int64_t n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static void store_part(float* p, V v, std::int64_t n) { _mm512_mask_storeu_ps(p, mask(n), v); }
};

template <>
struct Wide<double> {
  typedef double V __attribute__((vector_size(64)));
  static constexpr std::int64_t kWidth = 8;

  static __mmask8 mask(std::int64_t n) { return static_cast<__mmask8>((1U << static_cast<unsigned>(n)) - 1U); }
  static V set(double x) { return _mm512_set1_pd(x); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static V madd(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V load_part(const double* p, std::int64_t n) { return _mm512_maskz_loadu_pd(mask(n), p); }
  static void store_part(double* p, V v, std::int64_t n) { _mm512_mask_storeu_pd(p, mask(n), v); }
};

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
