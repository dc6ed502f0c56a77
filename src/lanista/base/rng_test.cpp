#include "lanista/base/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/base/digest.h"

namespace lanista {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Pearson's statistic of counts that should be equal. The mean is bins - 1, the deviation about sqrt(2 (bins - 1)).
double chi_square(const std::vector<int>& counts) {
  double total = 0;
  for (const int c : counts) total += c;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int c : counts) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

// The known answers that come with the authors' Random123.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(philox(kOnes, kOnes, kOnes), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, StreamDependsOnSeedOnly) {
  Rng a(1), b(1), c(2);
  EXPECT_EQ(a, b);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto x = a.next();
    EXPECT_EQ(x, b.next());
    seen.insert(x);
    seen.insert(c.next());
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(Rng, CopyKeepsThePosition) {
  Rng a(7);
  static_cast<void>(a.next());
  Rng b = a;
  EXPECT_EQ(a.next(), b.next());
}

TEST(Rng, ChildrenDependOnTheKeyAndNotOnThePosition) {
  Rng parent(3);
  const Rng early = parent.split("data");
  for (int i = 0; i < 10; ++i) static_cast<void>(parent.next());
  EXPECT_EQ(parent.split("data"), early);
  EXPECT_EQ(parent.split(5), Rng(3).split(5));
}

TEST(Rng, ChildrenAreDistinct) {
  const Rng parent(3);
  std::set<std::uint64_t> keys{parent.key()};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    keys.insert(parent.split(i).key());
    keys.insert(parent.split(std::to_string(i)).key());
    keys.insert(Rng(4).split(i).key());
  }
  EXPECT_EQ(keys.size(), 3001u);
}

TEST(Rng, UniformFillsTheUnitInterval) {
  Rng rng(11);
  std::vector<int> counts(100);
  for (int i = 0; i < 100000; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ++counts[static_cast<std::size_t>(x * 100)];
  }
  EXPECT_LT(chi_square(counts), 170);
}

TEST(Rng, UniformRangeIsHalfOpen) {
  Rng rng(12);
  const double tight = std::nextafter(1.0, 2.0);
  const double big = std::numeric_limits<double>::max();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(rng.uniform(1.0, tight), 1.0);
    const double x = rng.uniform(-big, big);
    EXPECT_TRUE(x >= -big && x < big);
  }
  EXPECT_EQ(rng.uniform(2.0, 2.0), 2.0);
  EXPECT_THROW(rng.uniform(2.0, 1.0), InternalError);
}

TEST(Rng, BelowIsUniform) {
  Rng rng(13);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[rng.below(7)];
  EXPECT_LT(chi_square(counts), 28);
  // Two thirds of 2^64: the product without the rejection would make half of the values twice as frequent.
  const std::uint64_t n = 12297829382473034411ULL;
  std::vector<int> thirds(3);
  for (int i = 0; i < 30000; ++i) ++thirds[rng.below(n) / (n / 3 + 1)];
  EXPECT_LT(chi_square(thirds), 21);
  EXPECT_EQ(rng.below(1), 0u);
  EXPECT_THROW(rng.below(0), InternalError);
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(14);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = rng.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    negative |= x < 0;
    positive |= x > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, NormalHasTheMomentsOfTheNormal) {
  Rng rng(15);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.015);
  EXPECT_NEAR(fourth / kCount, 3, 0.12);
}

TEST(Rng, BernoulliHitsItsRate) {
  Rng rng(16);
  int hits = 0;
  for (int i = 0; i < 100000; ++i) hits += rng.bernoulli(0.3) ? 1 : 0;
  EXPECT_NEAR(hits / 1e5, 0.3, 0.006);
  EXPECT_FALSE(rng.bernoulli(0.0));
  EXPECT_TRUE(rng.bernoulli(1.0));
}

TEST(Rng, PermutationIsUniform) {
  Rng rng(17);
  auto order = rng.permutation(1000);
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
  std::vector<int> counts(27);
  for (int i = 0; i < 60000; ++i) {
    const auto p = rng.permutation(3);
    ++counts[p[0] * 9 + p[1] * 3 + p[2]];
  }
  std::erase(counts, 0);
  ASSERT_EQ(counts.size(), 6u);
  EXPECT_LT(chi_square(counts), 25);
  EXPECT_TRUE(rng.permutation(0).empty());
}

TEST(Rng, SampleIsPrefixOfPermutation) {
  Rng rng(18);
  for (std::uint32_t k = 0; k <= 20; ++k) {
    Rng copy = rng;
    const auto sample = rng.sample_without_replacement(20, k);
    const auto order = copy.permutation(20);
    EXPECT_EQ(std::set<std::uint32_t>(sample.begin(), sample.end()).size(), k);
    EXPECT_TRUE(std::equal(sample.begin(), sample.end(), order.begin()));
  }
  EXPECT_EQ(rng.sample_without_replacement(4000000000U, 3).size(), 3u);
  EXPECT_THROW(rng.sample_without_replacement(2, 3), InternalError);
}

TEST(NormalQuantile, IsTheInverseOfTheDistribution) {
  Rng rng(19);
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    // Small p covers the two tail formulas; the complement is exact by symmetry of the formula.
    const double p = i % 2 == 0 ? rng.uniform(1e-9, 0.5) : std::ldexp(1.0 + rng.uniform(), -3 - i % 900);
    const auto x = static_cast<long double>(normal_quantile(p));
    const long double back = 0.5L * std::erfc(-x / std::sqrt(2.0L));
    const long double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
    const long double error = std::fabs((back - static_cast<long double>(p)) / density);
    worst = std::max(worst, static_cast<double>(error / std::max(1.0L, std::fabs(x))));
  }
  EXPECT_LT(worst, 2e-15);
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  EXPECT_EQ(normal_quantile(0.25), -normal_quantile(0.75));
  EXPECT_THROW(normal_quantile(0.0), InternalError);
  EXPECT_THROW(normal_quantile(1.0), InternalError);
}

TEST(Rng, BitsAreFixed) {
  Rng rng(20);
  Hasher hasher;
  for (int i = 0; i < 1000; ++i) {
    hasher.real(rng.uniform(-3.0, 5.0)).real(rng.normal()).number(rng.between(-100, 100));
  }
  for (const auto x : rng.split("child").permutation(100)) hasher.number(x);
  EXPECT_EQ(hasher.finish().hex(), "4bfbe453503afbde146008353e25ce9a");
}

}  // namespace
}  // namespace lanista
