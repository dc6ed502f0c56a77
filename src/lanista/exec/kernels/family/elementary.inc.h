#pragma once
// exp, expm1, tanh, sigmoid and log on vectors. An element has the same bits in every vector lane. Range reduction is
// by Cody and Waite: the constants have exact products with the exponent, so no FMA is needed.

#include "lanista/exec/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  static constexpr float kLog2e = 1.44269504088896341F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  static constexpr float kMost = 88.7228F, kLeast = -87.3365F;  // below: subnormal results, taken as zero
  static constexpr int kMantissa = 23, kBias = 127, kTerms = 6;
  static constexpr float kFarTanh = 12.0F;
};
template <>
struct ExpConstants<double> {
  static constexpr double kMagic = 6755399441055744.0;
  static constexpr double kLog2e = 1.44269504088896341;
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kMost = 709.782712893383973, kLeast = -708.396418532264106;
  static constexpr int kMantissa = 52, kBias = 1023, kTerms = 12;
  static constexpr double kFarTanh = 24.0;
};

/// 1/2!, 1/3!, ...: the Taylor coefficients after 1 + r.
constexpr double kInverseFactorial[12] = {1.0 / 2,         1.0 / 6,          1.0 / 24,          1.0 / 120,
                                          1.0 / 720,       1.0 / 5040,       1.0 / 40320,       1.0 / 362880,
                                          1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0};

/// x = exponent * ln 2 + r, and expm1(r).
template <class V>
struct ExpParts {
  typename SimdOf<V>::I exponent;
  V expm1;
};

template <class V>
inline ExpParts<V> exp_parts(V x) {
  using S = SimdOf<V>;
  using T = typename S::Element;
  using C = ExpConstants<T>;
  using I = typename S::I;
  const V shifted = x * C::kLog2e + C::kMagic;
  const V n = shifted - C::kMagic;
  const V r = madd(n, S::set(-C::kLn2Low), madd(n, S::set(-C::kLn2High), x));
  V q = S::set(static_cast<T>(kInverseFactorial[C::kTerms - 1]));
#pragma GCC unroll 12
  for (int i = C::kTerms - 2; i >= 0; --i) q = madd(q, r, S::set(static_cast<T>(kInverseFactorial[i])));
  const I exponent = __builtin_bit_cast(I, shifted) - __builtin_bit_cast(I, S::set(C::kMagic));
  return {exponent, madd(r * r, q, r)};
}

/// 2^e for normal results.
template <class V>
inline V power_of_two(typename SimdOf<V>::I e) {
  using C = ExpConstants<typename SimdOf<V>::Element>;
  return __builtin_bit_cast(V, (e + C::kBias) << C::kMantissa);
}

template <class V>
inline V exp_of(V x) {
  using S = SimdOf<V>;
  using T = typename S::Element;
  using C = ExpConstants<T>;
  const V most = S::set(C::kMost), least = S::set(C::kLeast);
  const V inside = x > most ? most : (x < least ? least : x);
  const ExpParts<V> parts = exp_parts(inside);
  // Two factors, because a float cannot hold 2^128.
  const typename S::I half = parts.exponent >> 1;
  const V y = ((parts.expm1 + T(1)) * power_of_two<V>(half)) * power_of_two<V>(parts.exponent - half);
  const V bounded = x < least ? V{} : y;
  return x > most ? S::set(static_cast<T>(__builtin_inf())) : bounded;
}

/// exp(x) - 1 for x <= 0, accurate around zero too. Both zeros and NaN are returned unchanged.
template <class V>
inline V expm1_of(V x) {
  using S = SimdOf<V>;
  using T = typename S::Element;
  const V least = S::set(ExpConstants<T>::kLeast);
  const ExpParts<V> parts = exp_parts(x < least ? least : x);
  const V scale = power_of_two<V>(parts.exponent);
  const V y = madd(parts.expm1, scale, scale - T(1));
  return x == T(0) ? x : y;
}

/// tanh(x), odd and accurate around zero: with e = expm1(-2 |x|), tanh |x| = -e / (2 + e).
template <class V>
inline V tanh_of(V x) {
  using S = SimdOf<V>;
  using T = typename S::Element;
  using C = ExpConstants<T>;
  const V size = x < T(0) ? -x : x;
  const V far = S::set(C::kFarTanh);
  const ExpParts<V> parts = exp_parts((size > far ? far : size) * T(-2));
  const V scale = power_of_two<V>(parts.exponent);
  const V e = madd(parts.expm1, scale, scale - T(1));
  const V y = -e / (e + T(2));
  const V result = x < T(0) ? -y : y;
  return x == T(0) ? x : result;
}

template <class V>
inline V sigmoid_of(V x) {
  using T = typename SimdOf<V>::Element;
  return T(1) / (T(1) + exp_of(-x));
}

template <class T>
struct LogConstants;
template <>
struct LogConstants<float> {
  static constexpr std::int32_t kMantissaMask = 0x7FFFFF, kHalfRoot = 0x3F3504F3;  // bits of sqrt(1/2)
  static constexpr int kTerms = 5;
  static constexpr float kLeastNormal = 1.17549435e-38F;
};
template <>
struct LogConstants<double> {
  static constexpr std::int64_t kMantissaMask = 0xFFFFFFFFFFFFF, kHalfRoot = 0x3FE6A09E667F3BCD;
  static constexpr int kTerms = 11;
  static constexpr double kLeastNormal = 2.2250738585072014e-308;
};

/// Natural logarithm of positive normal numbers: x = 2^e m, m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m-1)/(m+1)).
/// NaN and infinity are returned unchanged.
template <class V>
inline V log_of(V x) {
  using S = SimdOf<V>;
  using T = typename S::Element;
  using C = ExpConstants<T>;
  using L = LogConstants<T>;
  using I = typename S::I;
  const I shifted = __builtin_bit_cast(I, x) - L::kHalfRoot;
  const I e = shifted >> C::kMantissa;
  const V m = __builtin_bit_cast(V, (shifted & L::kMantissaMask) + L::kHalfRoot);
  // e is small: adding it to the bits of the magic number makes it a floating-point integer.
  const V exponent = __builtin_bit_cast(V, e + __builtin_bit_cast(I, S::set(C::kMagic))) - C::kMagic;
  const V f = m - T(1);
  const V s = f / (m + T(1));
  const V s2 = s * s;
  V p = S::set(T(2) / T(2 * L::kTerms + 1));
#pragma GCC unroll 12
  for (int i = L::kTerms - 1; i >= 1; --i) p = madd(p, s2, S::set(T(2) / T(2 * i + 1)));
  const V low = madd(exponent, S::set(C::kLn2Low), s * s2 * p);
  const V y = exponent * C::kLn2High + (T(2) * s + low);
  return x < static_cast<T>(__builtin_inf()) ? y : x;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
