#include "lanista/exec/program/metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lanista/base/rng.h"

namespace lanista::program {
namespace {

using Of = SampleSum::Of;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Metrics, CountsTopRanksAndSumsLosses) {
  const Metrics requested{.loss = "cross_entropy", .sums = {{Of::kTop, 1}, {Of::kTop, 2}}};
  const std::vector<double> logits{3, 2, 1, /**/ 3, 2, 1, /**/ 3, 2, 1, /**/ 0, 5, 0};
  const std::vector<std::int32_t> labels{0, 1, 2, 1};
  MetricSums sums;

  add_classes(requested, 3, logits, labels, std::vector<double>{1, 2, 3, 6}, sums);

  EXPECT_EQ(sums.samples, 4);
  EXPECT_EQ(sums.of, (std::vector<double>{2, 3}));
  EXPECT_EQ(sums.loss, 12);
  EXPECT_TRUE(sums.confusion.empty() && sums.bins.empty() && sums.scores.empty()) << "not requested";
}

TEST(Metrics, BreaksTiesTowardsTheLowerClass) {
  const Metrics requested{.loss = "cross_entropy", .sums = {{Of::kTop, 1}}, .confusion = true};
  MetricSums sums;

  add_classes(requested, 2, std::vector<double>{1, 1, 1, 1}, std::vector<std::int32_t>{0, 1}, std::vector<double>{0, 0},
              sums);

  EXPECT_EQ(sums.of[0], 1);
  EXPECT_EQ(sums.confusion, (std::vector<std::int64_t>{1, 0, 1, 0}));
}

TEST(Metrics, CountsNanPredictionsAsWrong) {
  const Metrics requested{.loss = "cross_entropy",
                          .sums = {{Of::kTop, 1}, {Of::kTop, 2}, {Of::kLogLoss, 0}},
                          .confusion = true,
                          .calibration = true,
                          .scores = true};
  MetricSums sums;

  add_classes(requested, 2, std::vector<double>{kNaN, 1, 0, 2}, std::vector<std::int32_t>{1, 1},
              std::vector<double>{kNaN, 0}, sums);

  EXPECT_EQ(sums.of[0], 1);
  EXPECT_EQ(sums.of[1], 1);
  EXPECT_TRUE(std::isnan(sums.of[2]));
  EXPECT_NE(sums.loss, sums.loss);
  EXPECT_EQ(sums.samples, 2);
  EXPECT_EQ(sums.num_nan, 1);
  EXPECT_EQ(sums.confusion, (std::vector<std::int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(sums.bins[13].rows, 1) << "1 / (1 + exp(-2)) is 0.88";
  EXPECT_EQ(sums.scores.size(), 4U) << "whole rows";
}

TEST(Metrics, MeasuresLogLossWithoutLosingSmallProbabilities) {
  const Metrics requested{.loss = "cross_entropy", .sums = {{Of::kLogLoss, 0}}};
  MetricSums sums;
  add_classes(requested, 2, std::vector<double>{0, 1000}, std::vector<std::int32_t>{0}, std::vector<double>{0}, sums);
  EXPECT_EQ(sums.of[0], 1000);
  add_classes(requested, 2, std::vector<double>{5, 5}, std::vector<std::int32_t>{0}, std::vector<double>{0}, sums);
  EXPECT_NEAR(sums.of[0], 1000 + std::log(2), 1e-12);

  const double inf = std::numeric_limits<double>::infinity();
  MetricSums beyond;
  add_classes(requested, 2, std::vector<double>{-inf, 0}, std::vector<std::int32_t>{0}, std::vector<double>{0}, beyond);
  EXPECT_EQ(beyond.of[0], inf);
  add_classes(requested, 2, std::vector<double>{inf, 0}, std::vector<std::int32_t>{0}, std::vector<double>{0}, beyond);
  EXPECT_TRUE(std::isnan(beyond.of[0])) << "there is no probability";
}

TEST(Metrics, PutsProbabilitiesIntoRightClosedBins) {
  const Metrics requested{.loss = "cross_entropy", .calibration = true};
  MetricSums sums;
  // Probabilities 1/3 (the end of bin 4), 1 and one that is none.
  const double inf = std::numeric_limits<double>::infinity();
  add_classes(requested, 3, std::vector<double>{0, 0, 0, /**/ 900, 0, 0, /**/ inf, inf, 0},
              std::vector<std::int32_t>{1, 0, 0}, std::vector<double>{0, 0, 0}, sums);
  ASSERT_EQ(sums.bins.size(), kCalibrationBins);
  EXPECT_EQ(sums.bins[4].rows, 1);
  EXPECT_EQ(sums.bins[4].right, 0);
  EXPECT_EQ(sums.bins[14].rows, 1);
  EXPECT_EQ(sums.bins[14].right, 1);
  EXPECT_EQ(sums.bins[14].probability, 1);
  EXPECT_TRUE(std::isnan(sums.bins[0].probability));
}

TEST(Metrics, MeasuresAbsoluteErrorOfNumbers) {
  const Metrics requested{.loss = "mse", .sums = {{Of::kAbsoluteError, 0}}};
  MetricSums sums;

  add_numbers(requested, 2, std::vector<double>{1, 2, 3, 4}, std::vector<float>{2, 2, 3, 0},
              std::vector<double>{0.5, 8}, sums);

  EXPECT_EQ(sums.samples, 2);
  EXPECT_EQ(sums.of[0], 0.5 + 2.0);
  EXPECT_EQ(sums.loss, 8.5);
}

TEST(Metrics, MeasuresRelativeErrorPinballAndColumnsOfNumbers) {
  const Metrics requested{
      .loss = "mse", .sums = {{Of::kRelativeError, 0}, {Of::kPinball, 0.75}}, .columns = true, .scores = true};
  MetricSums sums;

  // Errors 1, -2 and 0, 4: of the second row the second target is 0.
  add_numbers(requested, 2, std::vector<double>{1, 2, 3, -4}, std::vector<float>{2, 0, 3, 0}, std::vector<double>{0, 0},
              sums);

  const double epsilon = std::numeric_limits<double>::epsilon();
  EXPECT_DOUBLE_EQ(sums.of[0], (0.5 + 2 / epsilon) / 2 + (0 + 4 / epsilon) / 2);
  EXPECT_DOUBLE_EQ(sums.of[1], (0.75 * 1 + 0.25 * 2) / 2 + (0.75 * 4) / 2);
  ASSERT_EQ(sums.columns.size(), 2U);
  EXPECT_EQ(sums.columns[0].squared_errors, 1);
  EXPECT_EQ(sums.columns[0].target_mean, 2.5);
  EXPECT_EQ(sums.columns[0].target_squares, 0.5);
  EXPECT_EQ(sums.columns[1].squared_errors, 4 + 16);
  EXPECT_EQ(sums.columns[1].target_squares, 0);
  EXPECT_EQ(sums.scores.size(), 4U);
  EXPECT_EQ(sums.targets.size(), 4U);
  EXPECT_EQ(sums.num_nan, 0);

  add_numbers(requested, 2, std::vector<double>{1, kNaN}, std::vector<float>{2, 0}, std::vector<double>{0}, sums);
  EXPECT_EQ(sums.num_nan, 1);
  EXPECT_TRUE(std::isnan(sums.of[0]) && std::isnan(sums.of[1]) && std::isnan(sums.columns[1].squared_errors));
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(Metrics, CountsEachLabelByTruthAndPrediction) {
  const Metrics requested{
      .loss = "bce", .sums = {{Of::kRightLabels, 0}, {Of::kAllLabels, 0}}, .labels = true, .confusion = true};
  // Two labels: the first has one hit and two false alarms, the second has one miss, and one row has NaN.
  const std::vector<double> logits{1, -1, /**/ 1, -1, /**/ 1, -1, /**/ -1, 0, /**/ kNaN, 5};
  const std::vector<float> truth{1, 0, /**/ 0, 0, /**/ 0, 1, /**/ 0, 0, /**/ 0, 1};
  MetricSums sums;

  add_labels(requested, 2, logits, truth, std::vector<double>{1, 1, 1, 1, 1}, sums);

  EXPECT_EQ(sums.samples, 5);
  EXPECT_EQ(sums.num_nan, 1);
  EXPECT_EQ(sums.of, (std::vector<double>{1 + 0.5 + 0 + 1 + 0.5, 2})) << "NaN is wrong, and 0 is not a label";
  EXPECT_EQ(sums.confusion, (std::vector<std::int64_t>{1, 2, 0, 1, /**/ 3, 0, 1, 0})) << "truth, then prediction";
}

TEST(HostMetrics, DoNotDependOnBatches) {
  constexpr std::size_t kRows = 97, kWidth = 5;
  Rng rng(3);
  std::vector<double> scores;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  for (std::size_t i = 0; i < kRows * kWidth; ++i) {
    scores.push_back(3 * rng.normal());
    targets.push_back(static_cast<float>(rng.normal()));
  }
  for (std::size_t i = 0; i < kRows; ++i) labels.push_back(static_cast<std::int32_t>(rng.below(kWidth)));
  const Metrics of_classes{.loss = "cross_entropy",
                           .sums = {{Of::kTop, 2}, {Of::kLogLoss, 0}},
                           .confusion = true,
                           .calibration = true,
                           .scores = true};
  const Metrics of_numbers{.loss = "mse",
                           .sums = {{Of::kAbsoluteError, 0}, {Of::kRelativeError, 0}, {Of::kPinball, 0.9}},
                           .columns = true,
                           .scores = true};
  const auto in_batches = [&](const Metrics& requested, std::size_t batch) {
    const bool classes = requested.loss == "cross_entropy";
    HostMetrics metrics(requested, kWidth, kernels::best_isa());
    MetricSums sums;
    for (std::size_t at = 0; at < kRows; at += batch) {
      const std::size_t count = std::min(batch, kRows - at);
      const auto rows = std::span(scores).subspan(at * kWidth, count * kWidth);
      if (classes) {
        metrics.add(rows, std::span(labels).subspan(at, count), {}, sums);
      } else {
        metrics.add(rows, {}, std::span(targets).subspan(at * kWidth, count * kWidth), sums);
      }
    }
    return sums;
  };
  for (const Metrics& requested : {of_classes, of_numbers}) {
    const MetricSums whole = in_batches(requested, kRows);
    EXPECT_EQ(whole.samples, static_cast<std::int64_t>(kRows));
    for (const std::size_t batch : {1U, 7U, 32U, 96U}) {
      const MetricSums parts = in_batches(requested, batch);
      EXPECT_TRUE(same_bits(parts.of, whole.of)) << batch;
      EXPECT_EQ(std::bit_cast<std::uint64_t>(parts.loss), std::bit_cast<std::uint64_t>(whole.loss));
      EXPECT_EQ(parts.samples, whole.samples);
      EXPECT_EQ(parts.confusion, whole.confusion);
      EXPECT_TRUE(same_bits(parts.scores, whole.scores));
      EXPECT_EQ(parts.labels, whole.labels);
      EXPECT_EQ(parts.targets, whole.targets);
      for (std::size_t b = 0; b < whole.bins.size(); ++b) {
        EXPECT_EQ(parts.bins[b].probability, whole.bins[b].probability);
        EXPECT_EQ(parts.bins[b].right, whole.bins[b].right);
      }
      for (std::size_t k = 0; k < whole.columns.size(); ++k) {
        EXPECT_EQ(parts.columns[k].squared_errors, whole.columns[k].squared_errors);
        EXPECT_EQ(parts.columns[k].target_squares, whole.columns[k].target_squares);
      }
    }
  }
}

/// Metrics of predictions in a unit, and of the same predictions in the unit of the targets.
struct TwoUnits {
  std::vector<double> standard, own;
  std::vector<float> targets;
};

TwoUnits random_in(const TargetScaling& unit, Rng rng, std::size_t rows) {
  TwoUnits out;
  for (std::size_t i = 0; i < rows * unit.mean.size(); ++i) {
    const std::size_t k = i % unit.mean.size();
    out.standard.push_back(rng.normal());
    out.own.push_back(out.standard.back() * unit.scale[k] + unit.mean[k]);
    out.targets.push_back(static_cast<float>(unit.scale[k] * rng.normal() + unit.mean[k]));
  }
  return out;
}

// Sums by hand: the loss is of standardised values, all other metrics are of the original targets.
TEST(HostMetrics, MeasuresLossInTrainingScaleAndErrorsInTargetScale) {
  const TargetScaling unit{.mean = {10'000, -3, 0}, .scale = {50'000, 0.125, 1}};
  const Metrics requested{.loss = "mse",
                          .sums = {{Of::kAbsoluteError, 0}, {Of::kRelativeError, 0}, {Of::kPinball, 0.9}},
                          .columns = true,
                          .scores = true,
                          .unit = unit};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t rows = 1 + seed;
    const TwoUnits numbers = random_in(unit, Rng(seed).split("units"), rows);
    std::vector<double> predictions = numbers.standard;
    unit.to_original(predictions);
    EXPECT_EQ(predictions, numbers.own);
    MetricSums sums;
    HostMetrics(requested, 3, kernels::best_isa()).add(predictions, {}, numbers.targets, sums);

    double loss = 0, absolute = 0, relative = 0, pinball = 0;
    std::vector<double> squares(3, 0);
    for (std::size_t i = 0; i < 3 * rows; ++i) {
      const double target = static_cast<double>(numbers.targets[i]), error = target - numbers.own[i];
      const double standard = (target - unit.mean[i % 3]) / unit.scale[i % 3] - numbers.standard[i];
      loss += standard * standard / 3;
      absolute += std::fabs(error) / 3;
      relative += std::fabs(error / target) / 3;
      pinball += (error > 0 ? 0.9 * error : -0.1 * error) / 3;
      squares[i % 3] += error * error;
    }
    EXPECT_NEAR(sums.loss, loss, 1e-12 * loss);
    EXPECT_NEAR(sums.of[0], absolute, 1e-12 * absolute);
    EXPECT_NEAR(sums.of[1], relative, 1e-12 * relative);
    EXPECT_NEAR(sums.of[2], pinball, 1e-12 * pinball);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(sums.columns[k].squared_errors, squares[k], 1e-12 * squares[k]);
    EXPECT_EQ(sums.scores, numbers.own);
    EXPECT_EQ(sums.targets, numbers.targets);
  }
}

TEST(HostMetrics, RejectsAScalingOfAnotherWidth) {
  const Metrics requested{.loss = "mse", .unit = {.mean = {1, 2}, .scale = {1, 2}}};
  EXPECT_THROW(HostMetrics(requested, 3, kernels::best_isa()), InternalError);
}

}  // namespace
}  // namespace lanista::program
