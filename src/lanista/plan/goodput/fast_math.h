#pragma once

#include <bit>
#include <cstdint>

// Logarithm and exponential for models that are evaluated a million times. They are about five times as fast as those
// of base/portable_math.h. The relative error is about 1e-13. Results have the same bits on all machines.
namespace lanista::goodput {

/// Returns the natural logarithm of a positive normal number.
inline double fast_log(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  // Scales the mantissa to [sqrt(1/2), sqrt(2)).
  const std::uint64_t shifted = bits - 0x3fe6a09e667f3bcdULL;
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  bits -= static_cast<std::uint64_t>(exponent) << 52U;
  const double m = std::bit_cast<double>(bits);
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double series = 1.0 / 17;
  for (int k = 15; k >= 1; k -= 2) series = series * t2 + 1.0 / k;
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2 * t * series;
}

/// Returns the exponential of x, which must be at most 700. It is 0 below -700.
inline double fast_exp(double x) {
  if (x < -700) return 0;
  const double n = (x * 1.4426950408889634074 + 0x1.8p52) - 0x1.8p52;
  const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  double sum = 1;
  for (int k = 13; k >= 1; --k) sum = 1 + sum * r * (1.0 / k);
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52U);
}

}  // namespace lanista::goodput
