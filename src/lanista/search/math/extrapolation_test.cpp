#include "lanista/search/math/extrapolation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::search {
namespace {

TEST(StudentCdf, MatchesPublishedTables) {
  // Degrees of freedom, then the 95 %, 97.5 % and 99 % points.
  const std::vector<std::vector<double>> rows{
      {4, 2.132, 2.776, 3.747}, {5, 2.015, 2.571, 3.365}, {10, 1.812, 2.228, 2.764}, {30, 1.697, 2.042, 2.457}};
  for (const auto& row : rows) {
    EXPECT_NEAR(student_cdf(row[1], row[0]), 0.95, 0.002);
    EXPECT_NEAR(student_cdf(-row[2], row[0]), 0.025, 0.002);
    EXPECT_NEAR(student_cdf(row[3], row[0]), 0.99, 0.002);
  }
  EXPECT_EQ(student_cdf(0, 7), 0.5);
}

std::vector<double> curve(std::int64_t epochs, const std::function<double(double)>& at) {
  std::vector<double> out;
  for (std::int64_t t = 1; t <= epochs; ++t) out.push_back(at(static_cast<double>(t)));
  return out;
}

TEST(ProbabilityBelow, PredictsEndOfCurvesOfItsFamilies) {
  const std::vector<std::function<double(double)>> curves{
      [](double t) { return 0.2 + 0.9 / t; }, [](double t) { return 0.2 + 0.9 / std::sqrt(t); },
      [](double t) { return 3 - 2 / (t * t); }, [](double t) { return 0.1 + std::exp(-0.08 * t); }};
  for (const auto& at : curves) {
    const auto seen = curve(15, at);
    const double end = at(50), range = std::abs(seen.front() - seen.back());
    EXPECT_GT(probability_below(seen, 50, end + 0.05 * range), 0.95);
    EXPECT_LT(probability_below(seen, 50, end - 0.05 * range), 0.05);
  }
}

TEST(ProbabilityBelow, IncreasesWithTargetAndIsScaleInvariant) {
  Rng rng(1);
  const auto seen = curve(8, [&](double t) { return 1 / t + 0.05 * rng.uniform(); });
  std::vector<double> other;
  for (const double loss : seen) other.push_back(700 * loss - 3);
  double before = 0;
  for (double target = -0.5; target < 1.2; target += 0.05) {
    const double chance = probability_below(seen, 27, target);
    EXPECT_GE(chance, before);
    EXPECT_NEAR(probability_below(other, 27, 700 * target - 3), chance, 1e-9);
    before = chance;
  }
  EXPECT_LT(probability_below(seen, 27, -0.5), 0.01);
  EXPECT_GT(before, 0.99);
}

TEST(ProbabilityBelow, ExtrapolatesConstantCurveAsConstant) {
  const std::vector<double> flat(5, 0.25);
  EXPECT_EQ(probability_below(flat, 9, 0.26), 1);
  EXPECT_EQ(probability_below(flat, 9, 0.25), 0);
}

// Noisy curves between the shapes of the grid: events of probability 5 % or less happen in at most 5 % of the cases.
TEST(ProbabilityBelow, IsCalibratedOnSampledCurves) {
  Rng rng(7);
  int given_up = 0, wrong = 0, kept = 0, right = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool power = rng.bernoulli(0.5);
    const double rate = power ? rng.uniform(0.3, 1.5) : rng.uniform(0.03, 0.3), offset = rng.uniform(0.0, 1.0);
    const double noise = rng.uniform(0.0, 0.03), fall = rng.uniform(0.3, 2.0);
    const auto at = [&](double t) { return offset + fall * (power ? std::pow(t, -rate) : std::exp(-rate * t)); };
    const auto seen = curve(rng.between(4, 15), [&](double t) { return at(t) + noise * rng.normal(); });
    const double end = at(27) + noise * rng.normal(), target = end + rng.uniform(-0.4, 0.4) * fall;
    const double chance = probability_below(seen, 27, target);
    if (chance < 0.05) {
      ++given_up;
      wrong += end < target ? 1 : 0;
    } else if (chance > 0.95) {
      ++kept;
      right += end < target ? 1 : 0;
    }
  }
  EXPECT_GT(given_up, 500);
  EXPECT_GT(kept, 500);
  EXPECT_LT(wrong, 0.05 * given_up);
  EXPECT_GT(right, 0.95 * kept);
}

}  // namespace
}  // namespace lanista::search
