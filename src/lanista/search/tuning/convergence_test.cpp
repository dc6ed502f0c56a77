// Cases computed by hand, and a comparison with brute force.
#include "lanista/search/tuning/convergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

using Numbers = std::vector<double>;

TEST(Convergence, ConvergesForAFallWithASmallRise) {
  // Range -0.5, largest rise 0.04 <= 0.05, time 4.
  const auto seen = judge_convergence(Numbers{0, 1, 2, 3, 4}, Numbers{1, .8, .84, .6, .5});

  EXPECT_EQ(seen.trend, Trend::kConverging);
  EXPECT_NEAR(seen.slope, -0.115, 1e-12);
  EXPECT_NEAR(seen.speed, 0.115, 1e-12);
}

TEST(Convergence, IsUnstableForAFallWithALargeRise) {
  const auto seen = judge_convergence(Numbers{0, 1, 2, 3, 4}, Numbers{1, .8, .9, .6, .5});

  EXPECT_EQ(seen.trend, Trend::kUnstable);
  EXPECT_NEAR(seen.slope, -0.1, 1e-12);
}

TEST(Convergence, DivergesAboveTenTimesTheFirstLoss) {
  EXPECT_EQ(judge_convergence(Numbers{0, 1}, Numbers{1, 11}).trend, Trend::kDiverged);
  EXPECT_EQ(judge_convergence(Numbers{0, 1}, Numbers{1, 10}).trend, Trend::kUnstable);  // not above ten times
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(judge_convergence(Numbers{0, 1, 2}, Numbers{1, nan, .5}).trend, Trend::kDiverged);
  EXPECT_EQ(judge_convergence(Numbers{0, 1, 2}, Numbers{1, inf, .5}).trend, Trend::kDiverged);
  EXPECT_EQ(judge_convergence(Numbers{0, 1}, Numbers{1, 11}).speed, 0);
}

TEST(Convergence, HasNoSpeedForARise) {
  const auto seen = judge_convergence(Numbers{0, 2}, Numbers{1, 2});

  EXPECT_EQ(seen.slope, 1);  // range 1, rise 1, time 2
  EXPECT_EQ(seen.speed, 0);
  EXPECT_EQ(seen.trend, Trend::kUnstable);
}

TEST(Convergence, UsesConfiguredThresholds) {
  const Numbers times{0, 1, 2, 3, 4}, losses{1, .8, .9, .6, .5};

  EXPECT_EQ(judge_convergence(times, losses, {.unstable = 0.21}).trend, Trend::kConverging);
  EXPECT_EQ(judge_convergence(Numbers{0, 1}, Numbers{1, 3}, {.diverged = 2}).trend, Trend::kDiverged);
}

TEST(Convergence, UsesWindowMeansOfATrace) {
  // Two windows of 3: times 2 and 5, means 5 and 2; the start is 8 at 0.
  const auto seen = convergence_of(8, Numbers{6, 5, 4, 3, 2, 1}, {.windows = 2});

  EXPECT_NEAR(seen.slope, -6.0 / 5, 1e-12);
  EXPECT_EQ(seen.trend, Trend::kConverging);
}

TEST(Convergence, UsesFewerWindowsForAShortTrace) {
  EXPECT_EQ(convergence_of(4, Numbers{3, 2}, {.windows = 10}), judge_convergence(Numbers{0, 1, 2}, Numbers{4, 3, 2}));
}

// Every step belongs to one window, window lengths differ by at most one step, and the largest rise is found over all
// pairs.
TEST(Convergence, AgreesWithBruteForce) {
  Rng rng(7);
  for (int i = 0; i < 200; ++i) {
    const auto count = static_cast<std::size_t>(rng.between(1, 60)),
               most = static_cast<std::size_t>(rng.between(1, 12));
    Numbers losses(count);
    for (double& loss : losses) loss = rng.uniform(0.1, 3);
    Numbers times{0}, means{1.5};
    const std::size_t windows = std::min(most, count);
    std::size_t next = 0;
    for (std::size_t w = 0; w < windows; ++w) {
      double time = 0, loss = 0;
      std::size_t inside = 0;
      for (; next < count && next * windows < (w + 1) * count && (next + 1) * windows <= (w + 1) * count; ++next) {
        time += static_cast<double>(next) + 1;
        loss += losses[next];
        ++inside;
      }
      ASSERT_GT(inside, 0U);
      times.push_back(time / static_cast<double>(inside));
      means.push_back(loss / static_cast<double>(inside));
    }
    ASSERT_EQ(next, count);
    double noise = 0;
    for (std::size_t k = 0; k + 1 < means.size(); ++k) noise = std::max(noise, means[k + 1] - means[k]);

    const auto seen = convergence_of(1.5, losses, {.windows = static_cast<std::int64_t>(most)});

    EXPECT_NEAR(seen.slope, (means.back() - 1.5 + noise) / times.back(), 1e-12);
  }
}

TEST(Convergence, MeasuresSlopeDifferenceInErrors) {
  // d = 1, 2, 3 has slope 1 and no scatter; d = 2, 1, 3: slope 13/14, rest 14 - 169/14 = 27/14, error sqrt(27/28/14).
  EXPECT_TRUE(std::isinf(slope_difference_in_errors(Numbers{1, 2, 3}, Numbers{0, 0, 0})));
  EXPECT_NEAR(slope_difference_in_errors(Numbers{2, 1, 3}, Numbers{0, 0, 0}), 13.0 / 14 / std::sqrt(27.0 / 28 / 14),
              1e-12);
  EXPECT_NEAR(slope_difference_in_errors(Numbers{5, 5, 5}, Numbers{7, 6, 8}), -13.0 / 14 / std::sqrt(27.0 / 28 / 14),
              1e-12);
  EXPECT_EQ(slope_difference_in_errors(Numbers{1, 1}, Numbers{1, 1}), 0);
  EXPECT_EQ(slope_difference_in_errors(Numbers{1}, Numbers{0}), 0);
}

TEST(Convergence, HasStoredTrendNames) {
  EXPECT_EQ(trend_name(Trend::kConverging), "converging");
  EXPECT_EQ(trend_name(Trend::kUnstable), "unstable");
  EXPECT_EQ(trend_name(Trend::kDiverged), "diverged");
}

}  // namespace
}  // namespace lanista::study
