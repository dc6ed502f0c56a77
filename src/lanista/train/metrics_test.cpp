#include "lanista/train/metrics.h"

#include <gtest/gtest.h>

#include <limits>

namespace lanista::train {
namespace {

TEST(Metrics, CountsTopRanksAndAveragesLosses) {
  MetricSums sums({"accuracy", "top2"}, 3);
  const std::vector<double> logits{3, 2, 1, /**/ 3, 2, 1, /**/ 3, 2, 1, /**/ 0, 5, 0};
  const std::vector<std::int32_t> labels{0, 1, 2, 1};

  sums.add_classes(logits, labels, std::vector<double>{1, 2, 3, 6});

  const auto means = sums.means("val_");
  EXPECT_EQ(means.at("val_accuracy"), 0.5);
  EXPECT_EQ(means.at("val_top2"), 0.75);
  EXPECT_EQ(means.at("val_loss"), 3);
}

TEST(Metrics, BreaksTiesTowardsTheLowerClass) {
  MetricSums sums({"accuracy"}, 2);

  sums.add_classes(std::vector<double>{1, 1, 1, 1}, std::vector<std::int32_t>{0, 1}, std::vector<double>{0, 0});

  EXPECT_EQ(sums.means("").at("accuracy"), 0.5);
}

TEST(Metrics, CountsNanPredictionsAsWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  MetricSums sums({"accuracy", "top2"}, 2);

  sums.add_classes(std::vector<double>{nan, 1}, std::vector<std::int32_t>{1}, std::vector<double>{nan});

  EXPECT_EQ(sums.means("").at("accuracy"), 0);
  EXPECT_EQ(sums.means("").at("top2"), 0);
  EXPECT_NE(sums.means("").at("loss"), sums.means("").at("loss"));
}

TEST(Metrics, MeasuresAbsoluteErrorOfNumbers) {
  MetricSums sums({"mae"}, 2);

  sums.add_numbers(std::vector<double>{1, 2, 3, 4}, std::vector<float>{2, 2, 3, 0}, std::vector<double>{0.5, 8});

  EXPECT_EQ(sums.means("").at("mae"), (0.5 + 2.0) / 2);
  EXPECT_EQ(sums.means("").at("loss"), 4.25);
}

}  // namespace
}  // namespace lanista::train
