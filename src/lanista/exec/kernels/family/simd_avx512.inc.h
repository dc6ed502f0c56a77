#pragma once
// The vector types of the AVX-512 level: whole 512-bit vectors (Wide), except for sums across a vector, which are
// defined over eight partial results and keep the vectors of AVX2 (Simd).

#include "lanista/exec/kernels/family/simd_avx2.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr int kMaxTileRows = 8;  // 8 x 2 accumulators hide the latency of two multiply-add units

template <class T>
struct Wide;

template <>
struct Wide<float> : VectorTypes<float, 64> {
  static __mmask16 mask(std::int64_t n) { return static_cast<__mmask16>((1U << static_cast<unsigned>(n)) - 1U); }
  static V set(float x) { return _mm512_set1_ps(x); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V madd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V sqrt(V x) { return _mm512_sqrt_ps(x); }
  static V keep(V v, std::int64_t n) { return _mm512_maskz_mov_ps(mask(n), v); }
  static V load_part(const float* p, std::int64_t n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static V load_part_or(const float* p, std::int64_t n, float other) {
    return _mm512_mask_loadu_ps(set(other), mask(n), p);
  }
  static void store_part(float* p, V v, std::int64_t n) { _mm512_mask_storeu_ps(p, mask(n), v); }
  static void store_bytes(std::uint8_t* p, I v) {  // lanes hold 0 .. 255
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(__builtin_bit_cast(__m512i, v)));
  }
  static I load_bytes(const std::uint8_t* p) {
    return __builtin_bit_cast(I, _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
};

template <>
struct Wide<double> : VectorTypes<double, 64> {
  static __mmask8 mask(std::int64_t n) { return static_cast<__mmask8>((1U << static_cast<unsigned>(n)) - 1U); }
  static V set(double x) { return _mm512_set1_pd(x); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static V madd(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V sqrt(V x) { return _mm512_sqrt_pd(x); }
  static V keep(V v, std::int64_t n) { return _mm512_maskz_mov_pd(mask(n), v); }
  static V load_part(const double* p, std::int64_t n) { return _mm512_maskz_loadu_pd(mask(n), p); }
  static V load_part_or(const double* p, std::int64_t n, double other) {
    return _mm512_mask_loadu_pd(set(other), mask(n), p);
  }
  static void store_part(double* p, V v, std::int64_t n) { _mm512_mask_storeu_pd(p, mask(n), v); }
  static void store_bytes(std::uint8_t* p, I v) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm512_cvtepi64_epi8(__builtin_bit_cast(__m512i, v)));
  }
  static I load_bytes(const std::uint8_t* p) {
    return __builtin_bit_cast(I, _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
};

inline Wide<float> simd_of(Wide<float>::V) { return {}; }
inline Wide<double> simd_of(Wide<double>::V) { return {}; }

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
