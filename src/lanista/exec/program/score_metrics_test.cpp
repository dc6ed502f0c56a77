// The numbers here were worked out on paper; tests/readers/metrics_oracle.py compares many more with scikit-learn.
#include "lanista/exec/program/score_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lanista::program {
namespace {

using Counts = std::vector<std::int64_t>;
using Labels = std::vector<std::int32_t>;
using Logits = std::vector<double>;

TEST(ScoreMetrics, OfCounts) {
  // Recalls 3/4, 1/2, 2/2; precisions 3/3, 1/2, 2/3.
  const Counts three{3, 1, 0, /**/ 0, 1, 1, /**/ 0, 0, 2};
  EXPECT_DOUBLE_EQ(balanced_accuracy(three, 3), (0.75 + 0.5 + 1) / 3);
  EXPECT_DOUBLE_EQ(f1_macro(three, 3), (6.0 / 7 + 0.5 + 0.8) / 3);
  // 8 rows, 6 right; labels 4 2 2, predictions 3 2 3.
  EXPECT_DOUBLE_EQ(matthews(three, 3), (6 * 8 - (12 + 4 + 6)) / std::sqrt((64.0 - 24) * (64 - 22)));

  const Counts two{5, 2, /**/ 1, 4};
  EXPECT_DOUBLE_EQ(f1(two, 2), 8.0 / 11);
  EXPECT_DOUBLE_EQ(matthews(two, 2), (4 * 5 - 2 * 1) / std::sqrt(6.0 * 5 * 7 * 6));
}

TEST(ScoreMetrics, OfCountsWithoutSomeClasses) {
  // Class 2 is neither label nor prediction, class 1 is predicted alone.
  const Counts counts{3, 1, 0, /**/ 0, 0, 0, /**/ 0, 0, 0};
  EXPECT_DOUBLE_EQ(balanced_accuracy(counts, 3), 0.75);
  EXPECT_DOUBLE_EQ(f1_macro(counts, 3), (6.0 / 7 + 0) / 2);
  EXPECT_EQ(matthews(counts, 3), 0);
  EXPECT_EQ(f1(Counts{4, 0, 0, 0}, 2), 0) << "0 / 0";
  for (const double none : {balanced_accuracy(Counts(4), 2), f1_macro(Counts(4), 2), matthews(Counts(4), 2),
                            f1(Counts(4), 2), calibration_error(std::vector<CalibrationBin>(kCalibrationBins))}) {
    EXPECT_TRUE(std::isnan(none)) << "of no row";
  }
}

TEST(ScoreMetrics, OfBins) {
  std::vector<CalibrationBin> bins(kCalibrationBins);
  bins[8] = {.rows = 2, .right = 1, .probability = 1.1};
  bins[14] = {.rows = 6, .right = 6, .probability = 5.7};
  EXPECT_NEAR(calibration_error(bins), (0.1 + 0.3) / 8, 1e-15);
}

TEST(ScoreMetrics, OfColumns) {
  std::vector<ErrorColumn> columns{{.squared_errors = 8, .target_mean = 0, .target_squares = 32},
                                   {.squared_errors = 2, .target_mean = 0, .target_squares = 1}};
  EXPECT_DOUBLE_EQ(rmse(columns, 2), (2 + 1) / 2.0);
  EXPECT_DOUBLE_EQ(r2(columns, 2), (0.75 - 1) / 2);
  EXPECT_TRUE(std::isnan(r2(columns, 1)));
  columns = {{.squared_errors = 0, .target_mean = 3, .target_squares = 0}};
  EXPECT_EQ(r2(columns, 2), 1) << "equal targets, all right";
  columns[0].squared_errors = 1e-9;
  EXPECT_EQ(r2(columns, 2), 0) << "equal targets, missed";
}

// Two classes by the logit of class 1 above that of class 0.
Logits two_classes(const std::vector<double>& scores) {
  Logits logits;
  for (const double score : scores) logits.insert(logits.end(), {1.0, 1.0 + score});
  return logits;
}

TEST(ScoreMetrics, OfRanks) {
  // From the top: + - (+ -) + -, a tie in brackets.
  const Logits logits = two_classes({9, 8, 7, 7, 6, 5});
  const Labels labels{1, 0, 1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(roc_auc(logits, labels, 2), (3 + 1.5 + 1) / 9);
  EXPECT_DOUBLE_EQ(average_precision(logits, labels, 2), (1.0 + 2.0 / 4 + 3.0 / 5) / 3);

  EXPECT_EQ(roc_auc(two_classes({1, 1, 1, 1}), Labels{0, 1, 1, 0}, 2), 0.5) << "all equal";
  EXPECT_EQ(average_precision(two_classes({1, 1, 1, 1}), Labels{0, 1, 1, 1}, 2), 0.75);
}

TEST(ScoreMetrics, AreOneForAPerfectRanking) {
  for (const std::size_t rows : {7U, 98U, 300U}) {
    std::vector<double> scores;
    Labels labels;
    for (std::size_t i = 0; i < rows; ++i) {
      scores.push_back(static_cast<double>(i));
      labels.push_back(i < rows / 2 ? 0 : 1);
    }
    EXPECT_EQ(average_precision(two_classes(scores), labels, 2), 1) << rows;
    EXPECT_EQ(roc_auc(two_classes(scores), labels, 2), 1) << rows;
  }
}

TEST(ScoreMetrics, OfRanksWhereOneClassHasNoRows) {
  const Logits logits = two_classes({1, 2, 3});
  EXPECT_TRUE(std::isnan(roc_auc(logits, Labels{0, 0, 0}, 2)));
  EXPECT_TRUE(std::isnan(roc_auc(logits, Labels{1, 1, 1}, 2)));
  EXPECT_EQ(average_precision(logits, Labels{0, 0, 0}, 2), 0);
  EXPECT_EQ(average_precision(logits, Labels{1, 1, 1}, 2), 1);
  EXPECT_TRUE(std::isnan(roc_auc({}, {}, 2)));
  EXPECT_TRUE(std::isnan(average_precision({}, {}, 2)));
}

TEST(ScoreMetrics, OfManyClassesAreMeansOfEachAgainstTheRest) {
  // Probabilities by row: class 0 is ranked by 0.7, 0.2, 0.1, 0.5; its rows are the first and the last.
  const std::vector<double> probabilities{0.7, 0.2, 0.1, /**/ 0.2, 0.5, 0.3, /**/ 0.1, 0.3, 0.6, /**/ 0.5, 0.4, 0.1};
  Logits logits;
  for (const double p : probabilities) logits.push_back(std::log(p) + 3);
  const Labels labels{0, 2, 2, 0};
  EXPECT_TRUE(std::isnan(roc_auc(logits, labels, 3))) << "class 1 has no rows";
  // Class 0: both rows first, 1; class 1: none, 0; class 2: both first, 1.
  EXPECT_DOUBLE_EQ(average_precision(logits, labels, 3), 2.0 / 3);
  // Class 0: rows at 0.7 and 0.2 of 0.7 0.5 0.2 0.1, 3 of 4 pairs; class 1: its row, 0.4, is below 0.5 alone, 2 of 3
  // pairs; class 2: its row is the first of all.
  EXPECT_DOUBLE_EQ(roc_auc(logits, Labels{0, 0, 2, 1}, 3), (0.75 + 2.0 / 3 + 1) / 3);
}

TEST(Softmax, SeparatesProbabilitiesNearOne) {
  const double sure = Softmax(Logits{50, 0, 0}).log_of(50), surer = Softmax(Logits{60, 0, 0}).log_of(60);
  EXPECT_DOUBLE_EQ(sure, -2 * std::exp(-50));
  EXPECT_DOUBLE_EQ(surer, -2 * std::exp(-60));
  EXPECT_DOUBLE_EQ(Softmax(Logits{1, 0}).largest_probability(), 1 / (1 + std::exp(-1)));
  EXPECT_DOUBLE_EQ(Softmax(Logits{1, 0}).log_of(0), -1 - std::log1p(std::exp(-1)));
}

TEST(ScoreMetrics, RankProbabilitiesThatRoundToOne) {
  // All probabilities of class 1 are 1 in double; the order is right all the same.
  EXPECT_EQ(roc_auc(two_classes({300, 200, 100}), Labels{1, 1, 0}, 2), 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(roc_auc(two_classes({nan, 200, 100}), Labels{1, 1, 0}, 2)));
  EXPECT_TRUE(std::isnan(average_precision(two_classes({nan, 200, 100}), Labels{1, 1, 0}, 2)));
}

}  // namespace
}  // namespace lanista::program
