#pragma once
// The vector types of the AVX2 level: 8 floats or 4 doubles, with fused multiply-add.

#include <immintrin.h>

#include <cstdint>

#include "lanista/exec/kernels/family/simd_types.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

alignas(64) constexpr std::int32_t kMask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
alignas(64) constexpr std::int64_t kMask64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

template <class T>
struct Simd;

template <>
struct Simd<float> : VectorTypes<float, 32> {
  static V set(float x) { return _mm256_set1_ps(x); }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static V madd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V sqrt(V x) { return _mm256_sqrt_ps(x); }
  static __m256i mask(std::int64_t n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask32 + 8 - n)); }
  static V keep(V v, std::int64_t n) { return _mm256_and_ps(v, _mm256_castsi256_ps(mask(n))); }
  static V load_part(const float* p, std::int64_t n) { return _mm256_maskload_ps(p, mask(n)); }
  static V load_part_or(const float* p, std::int64_t n, float other) {
    return _mm256_blendv_ps(set(other), load_part(p, n), _mm256_castsi256_ps(mask(n)));
  }
  // A masked store is slow on some CPUs; three ordinary ones are not.
  static void store_part(float* p, V v, std::int64_t n) {
    __m128 low = _mm256_castps256_ps128(v);
    if (n & 4) {
      _mm_storeu_ps(p, low);
      low = _mm256_extractf128_ps(v, 1);
      p += 4;
    }
    if (n & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), low);
      low = _mm_movehl_ps(low, low);
      p += 2;
    }
    if (n & 1) _mm_store_ss(p, low);
  }
  static void store_bytes(std::uint8_t* p, I v) {  // lanes hold 0 .. 255
    const __m256i lanes = __builtin_bit_cast(__m256i, v);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  static I load_bytes(const std::uint8_t* p) {
    return __builtin_bit_cast(I, _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
};

template <>
struct Simd<double> : VectorTypes<double, 32> {
  static V set(double x) { return _mm256_set1_pd(x); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static V madd(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V sqrt(V x) { return _mm256_sqrt_pd(x); }
  static __m256i mask(std::int64_t n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask64 + 4 - n)); }
  static V keep(V v, std::int64_t n) { return _mm256_and_pd(v, _mm256_castsi256_pd(mask(n))); }
  static V load_part(const double* p, std::int64_t n) { return _mm256_maskload_pd(p, mask(n)); }
  static V load_part_or(const double* p, std::int64_t n, double other) {
    return _mm256_blendv_pd(set(other), load_part(p, n), _mm256_castsi256_pd(mask(n)));
  }
  static void store_part(double* p, V v, std::int64_t n) {
    __m128d low = _mm256_castpd256_pd128(v);
    if (n & 2) {
      _mm_storeu_pd(p, low);
      low = _mm256_extractf128_pd(v, 1);
      p += 2;
    }
    if (n & 1) _mm_store_sd(p, low);
  }
  static void store_bytes(std::uint8_t* p, I v) {
    for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(v[i]);
  }
  static I load_bytes(const std::uint8_t* p) { return I{p[0], p[1], p[2], p[3]}; }
};

/// The operations of a vector type.
inline Simd<float> simd_of(Simd<float>::V) { return {}; }
inline Simd<double> simd_of(Simd<double>::V) { return {}; }

inline float scalar_madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double scalar_madd(double a, double b, double c) { return __builtin_fma(a, b, c); }

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
