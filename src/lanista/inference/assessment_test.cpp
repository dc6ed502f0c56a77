#include "lanista/inference/assessment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lanista::inference {
namespace {

// Rows are labels: three classes, the last without rows.
const std::vector<std::int64_t> kConfusion{6, 2, 0, /**/ 3, 0, 1, /**/ 0, 0, 0};

TEST(ClassScores, AreSharesOfRowsAndColumns) {
  const auto scores = class_scores(kConfusion, 3);
  ASSERT_EQ(scores.size(), 3U);
  EXPECT_EQ(scores[0].rows, 8);
  EXPECT_EQ(scores[0].recall, 0.75);
  EXPECT_EQ(scores[0].precision, 6.0 / 9);
  EXPECT_EQ(scores[1].recall, 0);
  EXPECT_EQ(scores[1].precision, 0);
  EXPECT_EQ(scores[2].rows, 0);
  EXPECT_EQ(scores[2].recall, 0);
}

TEST(HardestClasses, AreThoseOfLowestRecallThatHaveRows) {
  const auto hardest = hardest_classes(kConfusion, 3, 10);
  ASSERT_EQ(hardest.size(), 2U);
  EXPECT_EQ(hardest[0].label, 1);
  EXPECT_EQ(hardest[1].label, 0);
  EXPECT_EQ(hardest_classes(kConfusion, 3, 1).size(), 1U);
}

TEST(ResidualsOf, SummariseEachNumberOfThePredictions) {
  const std::vector<double> predictions{0, 0, 0, 1, 0, 2, 0, 3, 0, 4};
  const std::vector<float> targets{1, 0, 2, 0, 3, 0, 4, 0, 5, 0};
  const auto residuals = residuals_of(predictions, targets, 2);
  ASSERT_EQ(residuals.size(), 2U);
  EXPECT_DOUBLE_EQ(residuals[0].mean, 3);
  EXPECT_DOUBLE_EQ(residuals[0].spread, std::sqrt(2.0));
  const std::vector<double> wanted{1.04, 1.2, 2, 3, 4, 4.8, 4.96};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(residuals[0].quantiles[i], wanted[i], 1e-12) << i;
  EXPECT_DOUBLE_EQ(residuals[1].mean, -2);
  EXPECT_DOUBLE_EQ(residuals[1].quantiles[3], -2);
}

TEST(ResidualsOf, AreNanForNanPredictions) {
  const std::vector<double> predictions{0, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<float> targets{1, 1};
  const auto lost = residuals_of(predictions, targets, 1);
  EXPECT_TRUE(std::isnan(lost[0].mean));
  EXPECT_TRUE(std::isnan(lost[0].quantiles[0]));
  EXPECT_TRUE(std::isnan(residuals_of({}, {}, 1)[0].spread));
}

}  // namespace
}  // namespace lanista::inference
