#include "lanista/base/portable_math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "lanista/base/check.h"

namespace lanista {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts; the first has 21 trailing zero bits, so that its product with an exponent is exact.
constexpr double kLn2Hi = 0x1.62e42feep-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
constexpr double kInvLn2 = 0x1.71547652b82fep+0;

/// An unevaluated sum, |lo| at most half a unit in the last place of hi: about 106 bits.
struct Pair {
  double hi = 0;
  double lo = 0;
};

Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

Pair split(double a) {
  const double t = 134217729.0 * a;  // 2^27 + 1 (Veltkamp)
  const double hi = t - (t - a);
  return {hi, a - hi};
}

// The product and its rounding error (Dekker): exact without a fused multiply-add, so the same on every machine.
Pair two_product(double a, double b) {
  const double p = a * b;
  const Pair x = split(a);
  const Pair y = split(b);
  return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

Pair multiply(Pair a, Pair b) {
  const Pair p = two_product(a.hi, b.hi);
  return two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

Pair add(Pair a, Pair b) {
  const Pair s = two_sum(a.hi, b.hi);
  return two_sum(s.hi, s.lo + (a.lo + b.lo));
}

// The nearest integer of a value far below 2^51: the sum pushes the fraction out of the significand.
double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

// 2^e for e in -1022..1023.
double power_of_two(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

// log of a positive finite number: x = 2^k m with m near 1, log m = 2 atanh((m-1)/(m+1)). The first two terms of the
// series are pairs, because pow multiplies the error of the logarithm by up to 700.
Pair log_pair(double x) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  const double f = m - 1.0;  // exact
  const Pair d = two_sum(m, 1.0);
  const double q = f / d.hi;
  const Pair back = two_product(q, d.hi);
  const Pair s = two_sum(q, ((f - back.hi) - back.lo - q * d.lo) / d.hi);

  const Pair z = multiply(s, s);  // at most 0.0295
  double tail = 0;
  for (int n = 25; n >= 5; n -= 2) tail = tail * z.hi + 1.0 / n;
  const Pair third{1.0 / 3.0, 0x1.5555555555555p-56};
  const Pair series = add(add({1.0, 0.0}, multiply(z, third)), {z.hi * z.hi * tail, 0.0});
  const Pair log_m = multiply({2 * s.hi, 2 * s.lo}, series);
  return add(add({k * kLn2Hi, 0.0}, {k * kLn2Lo, 0.0}), log_m);
}

// exp(x + correction), the correction being far below x.
double exp_sum(double x, double correction) {
  if (x != x) return kNan;
  if (x > 709.79) return kInf;
  if (x < -745.14) return 0.0;
  const double k = nearest(x * kInvLn2);
  const double r = ((x - k * kLn2Hi) - k * kLn2Lo) + correction;
  double sum = 1.0;
  for (int n = 14; n >= 2; --n) sum = 1.0 + r * sum / n;
  const double result = 1.0 + r * sum;
  // In two steps, because 2^k may lie outside the normal numbers where the result does not, or just about.
  const int whole = static_cast<int>(k);
  const int half = whole / 2;
  return result * power_of_two(half) * power_of_two(whole - half);
}

// sin and cos of |r| <= pi/4 (a little over).
double sin_series(double r) {
  const double z = r * r;
  double sum = 1.0;
  for (int n = 18; n >= 4; n -= 2) sum = 1.0 - z * sum / (n * (n + 1));
  return r - r * (z * sum / 6.0);
}

double cos_series(double r) {
  const double z = r * r;
  double sum = 1.0;
  for (int n = 19; n >= 3; n -= 2) sum = 1.0 - z * sum / (n * (n + 1));
  return 1.0 - z * sum / 2.0;
}

// exp(-x^2). The rounding error of the square would be multiplied by its size.
double exp_minus_square(double x) {
  const Pair square = two_product(x, x);
  return exp_sum(-square.hi, -square.lo);
}

constexpr double kInvSqrtPi = 0.56418958354775628695;

}  // namespace

double portable_log(double x) {
  if (x != x || x < 0) return kNan;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  return log_pair(x).hi;
}

double portable_exp(double x) { return exp_sum(x, 0.0); }

double portable_cos(double x) {
  LANISTA_CHECK(x >= -1e5 && x <= 1e5, "portable_cos: argument outside -1e5..1e5");
  // x = k pi/2 + r. Three parts of pi/2 with 33 bits each: their products with k are exact.
  constexpr double kPart1 = 0x1.921fb544p+0;
  constexpr double kPart2 = 0x1.0b4611a6p-34;
  constexpr double kPart3 = 0x1.3198a2e037073p-69;
  const double k = nearest(x * 0x1.45f306dc9c883p-1);
  const Pair first = two_sum(x - k * kPart1, -(k * kPart2));
  const Pair r = two_sum(first.hi, first.lo - k * kPart3);
  switch (static_cast<std::int64_t>(k) & 3) {
    case 0:
      return cos_series(r.hi) - r.lo * sin_series(r.hi);
    case 1:
      return -(sin_series(r.hi) + r.lo * cos_series(r.hi));
    case 2:
      return -(cos_series(r.hi) - r.lo * sin_series(r.hi));
    default:
      return sin_series(r.hi) + r.lo * cos_series(r.hi);
  }
}

double portable_pow(double base, double exponent) {
  LANISTA_CHECK(base > 0, "portable_pow: base must be above zero");
  if (exponent == 0 || base == 1) return 1.0;
  if (exponent != exponent) return kNan;
  if (base == kInf) return exponent > 0 ? kInf : 0.0;
  const Pair log_base = log_pair(base);
  const double rough = exponent * log_base.hi;
  if (rough > 710) return kInf;
  if (rough < -746) return 0.0;
  const Pair p = multiply({exponent, 0.0}, log_base);  // no overflow: rough is small, so the exponent is below 1e19
  return exp_sum(p.hi, p.lo);
}

double portable_erfc(double x) {
  if (x != x) return kNan;
  if (x < 0) return 2.0 - portable_erfc(-x);
  if (x > 28) return 0.0;  // below the smallest number
  if (x < 2) {
    // erf(x) = 2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!: all terms are positive.
    double sum = 1.0;
    for (int n = 60; n >= 1; --n) sum = 1.0 + 2.0 * x * x / (2 * n + 1) * sum;
    return 1.0 - 2.0 * kInvSqrtPi * exp_minus_square(x) * x * sum;
  }
  // Laplace's continued fraction: 1 / (x + (1/2) / (x + (2/2) / (x + (3/2) / (x + ...)))).
  double below = x;
  for (int n = 80; n >= 1; --n) below = x + 0.5 * n / below;
  return kInvSqrtPi * exp_minus_square(x) / below;
}

double portable_normal_cdf(double x) { return 0.5 * portable_erfc(x * -0.70710678118654752440); }

}  // namespace lanista
