#include "lanista/base/portable_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/base/digest.h"
#include "lanista/base/rng.h"

namespace lanista {
namespace {

constexpr double kTolerance = 2e-15;
constexpr double kInf = std::numeric_limits<double>::infinity();

double relative_error(double got, long double want) {
  return static_cast<double>(std::fabs((static_cast<long double>(got) - want) / want));
}

// Positive numbers of every size between 2^lo and 2^hi.
double any_size(Rng& rng, int lo, int hi) {
  return std::ldexp(1.0 + rng.uniform(), static_cast<int>(rng.between(lo, hi - 1)));
}

TEST(PortableMath, LogIsAccurateEverywhere) {
  Rng rng(1);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double wide = any_size(rng, -1022, 1024);
    const double near_one = 1.0 + rng.uniform(-1e-3, 1e-3) * (i % 2 == 0 ? 1.0 : 1e-9);
    for (const double x : {wide, rng.uniform(0.1, 10.0), near_one}) {
      if (x == 1.0) continue;
      worst = std::max(worst, relative_error(portable_log(x), std::log(static_cast<long double>(x))));
    }
  }
  EXPECT_LT(worst, kTolerance);
}

TEST(PortableMath, ExpIsAccurateEverywhere) {
  Rng rng(2);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    for (const double x : {rng.uniform(-708.0, 709.7), rng.uniform(-2.0, 2.0), rng.uniform(-1e-6, 1e-6)}) {
      worst = std::max(worst, relative_error(portable_exp(x), std::exp(static_cast<long double>(x))));
    }
  }
  EXPECT_LT(worst, kTolerance);
}

TEST(PortableMath, CosIsAccurateAlsoNearItsZeros) {
  Rng rng(3);
  double worst = 0;
  const long double half_pi = std::acos(-1.0L) / 2;
  for (int i = 0; i < 100000; ++i) {
    // Below 100 the 64-bit significand of the reference is good enough right next to a zero too.
    const auto zero = static_cast<double>(half_pi * static_cast<long double>(2 * rng.between(-30, 30) + 1));
    for (const double x : {rng.uniform(-10.0, 10.0), zero + rng.uniform(-1e-3, 1e-3)}) {
      worst = std::max(worst, relative_error(portable_cos(x), std::cos(static_cast<long double>(x))));
    }
    const double far = rng.uniform(-1e5, 1e5);
    worst =
        std::max(worst, std::fabs(portable_cos(far) - static_cast<double>(std::cos(static_cast<long double>(far)))));
  }
  EXPECT_LT(worst, kTolerance);
}

TEST(PortableMath, PowIsAccurateAlsoForLargeResults) {
  Rng rng(4);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double base = i % 2 == 0 ? rng.uniform(0.01, 10.0) : any_size(rng, -300, 300);
    const double limit = 700.0 / std::fabs(std::log(base));
    const double exponent = rng.uniform(-limit, limit);
    // powl itself loses bits for large exponents; log2/exp2 in long double would too. Its error is below 1e-17 here.
    const long double want = std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
    worst = std::max(worst, relative_error(portable_pow(base, exponent), want));
  }
  EXPECT_LT(worst, kTolerance);
}

TEST(PortableMath, EdgesFollowIeee) {
  EXPECT_EQ(portable_log(0.0), -kInf);
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_log(kInf), kInf);
  EXPECT_TRUE(std::isnan(portable_log(-1.0)));
  EXPECT_NEAR(portable_log(std::numeric_limits<double>::denorm_min()), -744.4400719213812, 1e-12);

  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_exp(1000.0), kInf);
  EXPECT_EQ(portable_exp(kInf), kInf);
  EXPECT_EQ(portable_exp(-1000.0), 0.0);
  EXPECT_EQ(portable_exp(-kInf), 0.0);
  EXPECT_EQ(portable_exp(709.7827128933841), kInf);
  EXPECT_LT(portable_exp(709.782712893383), kInf);
  EXPECT_EQ(portable_exp(-745.0), std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::isnan(portable_exp(std::numeric_limits<double>::quiet_NaN())));

  EXPECT_EQ(portable_cos(0.0), 1.0);
  EXPECT_THROW(portable_cos(2e5), InternalError);

  EXPECT_EQ(portable_pow(3.0, 0.0), 1.0);
  EXPECT_EQ(portable_pow(1.0, kInf), 1.0);
  EXPECT_EQ(portable_pow(2.0, 10.0), 1024.0);
  EXPECT_EQ(portable_pow(2.0, kInf), kInf);
  EXPECT_EQ(portable_pow(0.5, kInf), 0.0);
  EXPECT_EQ(portable_pow(10.0, -400.0), 0.0);
  EXPECT_THROW(portable_pow(0.0, 1.0), InternalError);
}

TEST(PortableMath, ErfcAndTheNormalDistributionAreAccurateInBothTails) {
  Rng rng(6);
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = rng.uniform(-6.0, 26.0);
    worst = std::max(worst, relative_error(portable_erfc(x), std::erfc(static_cast<long double>(x))));
    const double z = rng.uniform(-35.0, 8.0);
    const long double want = std::erfc(-static_cast<long double>(z) / std::sqrt(2.0L)) / 2;
    worst = std::max(worst, relative_error(portable_normal_cdf(z), want));
  }
  EXPECT_LT(worst, 2e-13);

  EXPECT_EQ(portable_erfc(0.0), 1.0);
  EXPECT_EQ(portable_erfc(kInf), 0.0);
  EXPECT_EQ(portable_erfc(-kInf), 2.0);
  EXPECT_EQ(portable_erfc(28.5), 0.0);
  EXPECT_TRUE(std::isnan(portable_erfc(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(portable_normal_cdf(0.0), 0.5);
}

// These bits are promised on every machine. The accuracy tests check that they are right.
TEST(PortableMath, BitsAreFixed) {
  Rng rng(5);
  Hasher hasher;
  for (int i = 0; i < 10000; ++i) {
    hasher.real(portable_log(rng.uniform(0.0, 100.0))).real(portable_exp(rng.uniform(-50.0, 50.0)));
    const double base = rng.uniform(0.1, 9.0);
    hasher.real(portable_cos(rng.uniform(-100.0, 100.0))).real(portable_pow(base, rng.uniform(-9.0, 9.0)));
  }
  EXPECT_EQ(hasher.finish().hex(), "70bded5112425aeff43c164af15f397a");
}

}  // namespace
}  // namespace lanista
