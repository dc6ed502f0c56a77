#include "lanista/exec/train/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/measure_weights.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Returns the values of an evaluation for predictions.
std::map<std::string, double> measured(const Evaluation& evaluation, std::int64_t width,
                                       const std::vector<double>& predictions, const std::vector<std::int32_t>& labels,
                                       const std::vector<float>& targets) {
  program::MetricSums sums;
  program::HostMetrics(evaluation.requested(), width, kernels::best_isa()).add(predictions, labels, targets, sums);
  return evaluation.values(sums, "");
}

TEST(Evaluation, ComputesEveryMetricOfTheTable) {
  // Logits of two classes, right but for the third row.
  const std::vector<double> logits{2, 0, /**/ 0, 2, /**/ 0, 2, /**/ 0, 2};
  const std::vector<std::int32_t> labels{0, 1, 0, 1};
  const auto names = study::applicable_metrics(2);
  const auto two = measured(Evaluation("cross_entropy", names, 2), 2, logits, labels, {});
  const double p = 1 / (1 + std::exp(-2));
  const std::map<std::string, double> wanted{{"accuracy", 0.75},
                                             {"average_precision", 2.0 / 3},
                                             {"balanced_accuracy", 0.75},
                                             {"calibration_error", p - 0.75},
                                             {"f1", 0.8},
                                             {"f1_macro", (2.0 / 3 + 0.8) / 2},
                                             {"log_loss", 0.5 - std::log(p)},
                                             {"loss", 0.5 - std::log(p)},
                                             {"matthews", 2 / std::sqrt(12.0)},
                                             {"perplexity", std::exp(0.5) / p},
                                             {"roc_auc", 0.75}};
  ASSERT_EQ(two.size(), wanted.size());
  for (const auto& [name, value] : wanted) EXPECT_NEAR(two.at(name), value, 1e-12) << name;

  const auto ten =
      measured(Evaluation("cross_entropy", study::applicable_metrics(10), 10), 10, std::vector<double>(10, 0), {7}, {});
  EXPECT_EQ(ten.at("top5"), 0);
  EXPECT_TRUE(std::isnan(ten.at("roc_auc"))) << "most classes have no row";

  // Logits of three labels, a row each; truth 1 where the logit is above 0, but for the last row's first two.
  const std::vector<double> of_labels{2, -2, 2, /**/ -2, 2, 2, /**/ 2, -2, -2};
  const std::vector<float> truth{1, 0, 1, /**/ 0, 1, 1, /**/ 0, 1, 0};
  const auto labelled =
      measured(Evaluation("bce", study::applicable_metrics(study::Targets::multilabel()), 3), 3, of_labels, {}, truth);
  const double right = std::log1p(std::exp(-2)), wrong = std::log1p(std::exp(2));
  const double loss = (7 * right + 2 * wrong) / 9;
  const std::map<std::string, double> wanted_labels{{"accuracy", 7.0 / 9},
                                                    {"average_precision", (0.5 + 5.0 / 6 + 1) / 3},
                                                    {"exact_match", 2.0 / 3},
                                                    {"f1_macro", (2.0 / 3 + 2.0 / 3 + 1) / 3},
                                                    {"log_loss", loss},
                                                    {"loss", loss},
                                                    {"roc_auc", (0.75 + 0.75 + 1) / 3}};
  ASSERT_EQ(labelled.size(), wanted_labels.size());
  for (const auto& [name, value] : wanted_labels) EXPECT_NEAR(labelled.at(name), value, 1e-12) << name;

  // Errors 1, 0, -2, 1 of targets 1, 2, 4, 5.
  const auto numbers = measured(Evaluation("mse", study::applicable_metrics(0), 1), 1, {0, 2, 6, 4}, {}, {1, 2, 4, 5});
  const std::map<std::string, double> of_numbers{
      {"mae", 1}, {"rmse", std::sqrt(1.5)}, {"r2", 1 - 0.6}, {"mape", (1 + 0 + 0.5 + 0.2) / 4}, {"quantile90", 0.5}};
  ASSERT_EQ(numbers.size(), of_numbers.size() + 1) << "and the loss";
  for (const auto& [name, value] : of_numbers) EXPECT_NEAR(numbers.at(name), value, 1e-12) << name;
}

TEST(Evaluation, IsNotImprovedByNanPredictions) {
  const auto two =
      measured(Evaluation("cross_entropy", study::applicable_metrics(2), 2), 2, {2, 0, 0, 2, kNaN, 2}, {0, 1, 0}, {});
  for (const auto& [name, value] : two) {
    if (name == "accuracy") {
      EXPECT_DOUBLE_EQ(value, 2.0 / 3);
    } else {
      EXPECT_TRUE(std::isnan(value)) << name;
    }
  }
  const auto numbers =
      measured(Evaluation("mse", study::applicable_metrics(0), 2), 2, {1, 2, 3, kNaN}, {}, {1, 2, 3, 4});
  for (const auto& [name, value] : numbers) EXPECT_TRUE(std::isnan(value)) << name;
}

TEST(Evaluation, HasThePerplexityOfItsLogLoss) {
  const Evaluation evaluation("cross_entropy", {"perplexity", "log_loss"}, 4);
  EXPECT_DOUBLE_EQ(measured(evaluation, 4, std::vector<double>(8, 1.5), {0, 3}, {}).at("perplexity"), 4);
  const auto values = measured(evaluation, 4, {2, 0, -1, 3, 0.5, 0, 1, 1}, {1, 2}, {});
  EXPECT_NEAR(values.at("perplexity"), std::exp(values.at("log_loss")), 1e-13 * values.at("perplexity"));
}

TEST(Evaluation, OfNoSamplesIsNan) {
  const Evaluation two("cross_entropy", study::applicable_metrics(2), 2),
      numbers("mse", study::applicable_metrics(0), 1);
  for (const auto& [name, value] : two.values({}, "test_")) EXPECT_TRUE(std::isnan(value)) << name;
  for (const auto& [name, value] : numbers.values({}, "test_")) EXPECT_TRUE(std::isnan(value)) << name;
  EXPECT_TRUE(two.values({}, "test_").contains("test_f1_macro"));
}

TEST(Evaluation, RequestsOnlyTheSumsItNeeds) {
  const Evaluation usual("cross_entropy", {}, 10);
  EXPECT_EQ(usual.requested().sums.size(), 1U);
  EXPECT_FALSE(usual.requested().confusion || usual.requested().scores || usual.requested().calibration);
  EXPECT_TRUE(Evaluation("cross_entropy", {"f1_macro"}, 10).requested().confusion);
  EXPECT_TRUE(Evaluation("cross_entropy", {"roc_auc"}, 10).requested().scores);
}

/// A caller's: what is earned where each right row brings 1 and each wrong one costs 2.
double net_gain(const study::Scored& scored) {
  double gain = 0;
  for (std::size_t i = 0; i < scored.labels.size(); ++i) {
    const bool one = scored.scores[2 * i + 1] > scored.scores[2 * i];
    gain += one == (scored.labels[i] == 1) ? 1 : -2;
  }
  return gain;
}

TEST(Evaluation, AcceptsCustomMetrics) {
  const std::vector<study::Metric> own{
      {.name = "net_gain", .targets = study::MetricTargets::kTwoClasses, .maximize = true, .compute = net_gain}};
  const Evaluation evaluation("cross_entropy", {"accuracy", "net_gain"}, 2, own);
  EXPECT_EQ(measured(evaluation, 2, {2, 0, 0, 2, 2, 0}, {0, 1, 1}, {}).at("net_gain"), 0);
  EXPECT_TRUE(std::isnan(measured(evaluation, 2, {2, 0, 0, 2, 2, kNaN}, {0, 1, 1}, {}).at("net_gain")));
}

TEST(Evaluation, AddsOriginsForMetricsOfTheSizeOfTargets) {
  const auto lowest = [](const study::Scored& scored) { return std::min(scored.targets[0], scored.scores[1]); };
  const std::vector<study::Metric> own{
      {.name = "lowest", .targets = study::MetricTargets::kNumbers, .maximize = false, .compute = lowest}};
  const program::TargetScaling unit{.mean = {0}, .scale = {10}, .origin = {1e9}};
  const Evaluation evaluation("mse", {"lowest", "mape", "mae", "r2", "quantile90"}, 1, own, unit);
  const Evaluation plain("mse", {"mae", "r2", "quantile90"}, 1, own, {.mean = {0}, .scale = {10}});

  const auto seen = measured(evaluation, 1, {1, -2.5}, {}, {0.5, 2});

  EXPECT_EQ(seen.at("lowest"), 1e9 - 2.5);
  EXPECT_DOUBLE_EQ(seen.at("mape"), (0.5 / (1e9 + 0.5) + 4.5 / (1e9 + 2)) / 2);
  const auto without = measured(plain, 1, {1, -2.5}, {}, {0.5, 2});
  for (const char* name : {"mae", "r2", "quantile90", "loss"}) EXPECT_EQ(seen.at(name), without.at(name)) << name;
}

TEST(Evaluation, GivesCustomMetricsTargetsInOriginalUnits) {
  const auto furthest = [](const study::Scored& scored) {
    double most = 0;
    for (std::size_t i = 0; i < scored.scores.size(); ++i) {
      most = std::max(most, std::fabs(scored.scores[i] - static_cast<double>(scored.targets[i])));
    }
    return most;
  };
  const std::vector<study::Metric> own{
      {.name = "furthest", .targets = study::MetricTargets::kNumbers, .maximize = false, .compute = furthest}};
  const Evaluation evaluation("mse", {"furthest", "mae"}, 1, own, {.mean = {100}, .scale = {10}});
  const auto seen = measured(evaluation, 1, {110, 90, 100}, {}, {110, 100, 130});
  EXPECT_EQ(seen.at("furthest"), 30);
  EXPECT_DOUBLE_EQ(seen.at("mae"), 40.0 / 3);
  EXPECT_DOUBLE_EQ(seen.at("loss"), (1.0 + 9.0) / 3) << "of numbers in deviations";
}

TrainerInput input(std::uint32_t id, const data::Dataset& data, const graph::OpTable& ops) {
  // The last batch of an evaluation is short.
  study::Recipe recipe = basic_recipe("sgd", "constant", 1, 77, 0.05 * id);
  return {.trial = TrialId{id},
          .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=10)\n"
                                 "%3 = output(%2)\n"),
          .recipe = recipe,
          .metrics = study::applicable_metrics(10),
          .trial_seed = id,
          .data_seed = 5,
          .data = &data,
          .step_ops = &ops};
}

TEST(Evaluation, OfLanesMatchesEachTrialAlone) {
  const data::Dataset data = *data::open({}, ".", real_file_system());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  auto group = *LaneGroup::create(input(1, data, ops), 3);
  std::vector<TrialRun> runs;
  for (const std::uint32_t id : {1U, 2U, 3U}) runs.push_back(*TrialRun::create(input(id, data, ops)));
  std::vector<TrialRun*> lanes;
  for (TrialRun& run : runs) {
    ASSERT_TRUE(group.admit(run));
    lanes.push_back(&run);
  }
  std::vector<StepResult> ends(3);
  while (runs[0].progress().epochs_done() < 1) group.step(lanes, ends);

  for (const TrialRun& run : runs) {
    auto alone = *Trainer::create(input(run.definition().input.trial.value, data, ops));
    while (alone.epochs_done() < 1) alone.step();
    ASSERT_EQ(run.progress().measurements().size(), 1U);
    const auto& metrics = run.progress().measurements()[0].metrics;
    EXPECT_EQ(metrics, alone.measurements()[0].metrics) << run.definition().input.trial.value;
    for (const std::string& name : study::applicable_metrics(10))
      EXPECT_FALSE(std::isnan(metrics.at("val_" + name))) << name;
    EXPECT_NEAR(metrics.at("val_log_loss"), metrics.at("val_loss"), 1e-12);
    const auto saved = measure_weights(input(run.definition().input.trial.value, data, ops), alone.save().tensors,
                                       data::Part::kValidation, "val_");
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->at("val_roc_auc"), metrics.at("val_roc_auc"));
  }
}

TEST(Evaluation, RefusesMetricsThatDoNotSuitTheData) {
  const data::Dataset data = *data::open({}, ".", real_file_system());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  TrainerInput wrong = input(1, data, ops);
  wrong.metrics = {"rmse"};
  EXPECT_EQ(TrialRun::create(wrong).error().where, "train.metrics");
  EXPECT_EQ(measure_weights(wrong, {}, data::Part::kTest, "").error().where, "train.metrics");
  const std::vector<study::Metric> own{{.name = "ours", .compute = [](const study::Scored& scored) {
                                          return static_cast<double>(scored.labels.size());
                                        }}};
  wrong.metrics = {"ours"};
  EXPECT_FALSE(TrialRun::create(wrong));
  wrong.own_metrics = &own;
  auto trainer = *Trainer::create(wrong);
  EXPECT_EQ(trainer.evaluate(data::Part::kTest, "test_").at("test_ours"),
            static_cast<double>(data.rows(data::Part::kTest).size()));
}

}  // namespace
}  // namespace lanista::train
