#include "lanista/search/study/noise_band.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

// At each end of the score interval, the share is 1.96 binomial deviations away from that end.
TEST(ScoreInterval, EndsAtConfidenceLimit) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t rows = rng.between(1, 5000);
    const double share = static_cast<double>(rng.between(0, rows)) / static_cast<double>(rows);
    const ConfidenceInterval interval = wilson_interval(share, rows);
    ASSERT_LE(interval.low, share + 1e-15);
    ASSERT_GE(interval.high, share - 1e-15);
    for (const double end : {interval.low, interval.high}) {
      if (end < 1e-12 || end > 1 - 1e-12) continue;  // the share itself, 0 or 1
      const double deviation = std::sqrt(end * (1 - end) / static_cast<double>(rows));
      ASSERT_NEAR(std::fabs(share - end) / deviation, 1.959963984540054, 1e-6) << share << " of " << rows;
    }
  }
}

StudyView view_of(const std::vector<double>& accuracies, std::int64_t rows) {
  StudyView view;
  view.config.goals = {{true, "val_accuracy"}};
  view.data = {{"split_rows", {10, rows, 10}}};
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(i + 1)};
    trial.measurements.push_back({trial.id, 1, 1, {{"val_accuracy", accuracies[i]}, {"val_loss", 0.5}}});
    trial.outcome = Outcome{OutcomeKind::kSucceeded, "", {}, "", {}};
    view.trials.push_back(std::move(trial));
  }
  return view;
}

TEST(NoiseBand, CountsTrialsWithinBand) {
  // Of 100 rows 0.95 lies between 0.8882 and 0.9785.
  const StudyView view = view_of({0.95, 0.89, 0.888, 0.5, 0.95}, 100);
  const auto band = noise_band(view, ranking_keys(view));
  ASSERT_TRUE(band.has_value());
  EXPECT_EQ(band->rows, 100);
  EXPECT_EQ(band->trials, 3);
  EXPECT_NEAR(band->band.low, 0.88825, 1e-5);
  EXPECT_NEAR(band->band.high, 0.97846, 1e-5);
}

TEST(NoiseBand, MatchesStudentTable) {
  for (const auto& [freedom, value] :
       {std::pair(1, 12.706), {2, 4.303}, {4, 2.776}, {5, 2.571}, {9, 2.262}, {19, 2.093}, {49, 2.010}, {999, 1.962}}) {
    EXPECT_NEAR(student_quantile(freedom), value, 0.0015) << freedom;
  }
}

TEST(NoiseBand, UsesSpreadOfFolds) {
  // The first proposal's trainings are 0.9, 0.8, 1.0. Those of the others are three times 0.6, and three times 0.35.
  StudyView view = view_of({0.9, 0.8, 1.0, 0.6, 0.6, 0.6, 0.35, 0.35, 0.35}, 10);
  view.config.data.folds = 3;
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    view.trials[i].proposal.graph_hash = hash_text(std::to_string(i / 3));
    view.trials[i].proposal.repeat = static_cast<std::int64_t>(i % 3);
    view.trials[i].proposal.fold = static_cast<std::int64_t>(i % 3);
  }
  const auto ranked = ranking_keys(view);
  ASSERT_EQ(ranked.size(), 3U);
  EXPECT_EQ(ranked[0].trial, TrialId{3}) << "under the number of its best training";
  const auto band = noise_band(view, ranked);
  ASSERT_TRUE(band);
  // t of 2 degrees 4.303, deviation 0.1, sqrt(1 / 3 + 1 / 2).
  EXPECT_NEAR(band->band.low, 0.9 - 4.30265 * 0.1 * 0.912871, 1e-5);
  EXPECT_EQ(band->band.high, 1) << "a share";
  EXPECT_EQ(band->trainings, 3);
  EXPECT_EQ(band->rows, 0);
  EXPECT_EQ(band->trials, 2);
  // Every metric has a spread: the means of a loss are 0.9, 0.6 and 0.35, the best is 0.35 +- 0.
  view.config.goals = {{false, "val_accuracy"}};
  const auto least = noise_band(view, ranking_keys(view));
  ASSERT_TRUE(least);
  EXPECT_NEAR(least->band.high, 0.35, 1e-12);
  EXPECT_EQ(least->trials, 1);
}

TEST(NoiseBand, StaysWithinTheRangeOfItsMetric) {
  // The trainings of the only proposal are far apart, so the interval of Student's t is wider than any share.
  const auto band_of = [](const Goal& goal, const std::vector<double>& values, std::int64_t rules = kLatestRules) {
    StudyView view = view_of(values, 10);
    view.config.data.rules = rules;
    view.config.data.folds = static_cast<std::int64_t>(values.size());
    view.config.goals = {goal};
    for (std::size_t i = 0; i < view.trials.size(); ++i) {
      TrialView& trial = view.trials[i];
      trial.proposal.graph_hash = hash_text("one");
      trial.proposal.repeat = static_cast<std::int64_t>(i);
      trial.proposal.fold = static_cast<std::int64_t>(i);
      for (Measurement& m : trial.measurements) m.metrics[goal.metric] = m.metrics.at("val_accuracy");
    }
    return noise_band(view, ranking_keys(view)).value_or(NoiseBand()).band;
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> wide{0.2, 0.5, 0.9};
  const std::tuple<std::string, double, double> ranges[] = {
      {"balanced_accuracy", 0, 1}, {"roc_auc", 0, 1},    {"average_precision", 0, 1}, {"f1", 0, 1},
      {"f1_macro", 0, 1},          {"top3", 0, 1},       {"exact_match", 0, 1},       {"accuracy", 0, 1},
      {"calibration_error", 0, 1}, {"loss", 0, kInf},    {"log_loss", 0, kInf},       {"mae", 0, kInf},
      {"rmse", 0, kInf},           {"mape", 0, kInf},    {"quantile90", 0, kInf},     {"r2", -kInf, 1},
      {"matthews", -1, 1},         {"mine", -kInf, kInf}};
  for (const auto& [name, least, largest] : ranges) {
    const auto band = band_of({name != "loss", "val_" + name}, wide);
    // t of 2 degrees 4.303, deviation 0.35119, sqrt(1 / 3 + 1 / 2).
    EXPECT_NEAR(band.low, std::max(least, 0.53333 - 1.37937), 1e-4) << name;
    EXPECT_NEAR(band.high, std::min(largest, 0.53333 + 1.37937), 1e-4) << name;
  }
  EXPECT_EQ(band_of({false, "val_perplexity"}, {1, 3, 6}).low, 1);
  EXPECT_NEAR(band_of({false, "val_mae"}, wide, kFirstRules).low, 0.53333 - 1.37937, 1e-4);
  EXPECT_EQ(band_of({true, "val_accuracy"}, wide, kFirstRules).low, 0);
}

TEST(NoiseBand, IsDefinedForShareMetricsOnly) {
  StudyView view = view_of({0.95, 0.9}, 100);
  const auto none = [&] { return !noise_band(view, ranking_keys(view)).has_value(); };
  EXPECT_FALSE(none());
  view.config.goals = {{false, "val_loss"}};
  EXPECT_TRUE(none());
  view.config.goals = {{true, "val_accuracy"}, {false, "params"}};
  EXPECT_TRUE(none());
  view.config.goals = {{true, "val_accuracy"}};
  view.data["multilabel"] = true;
  EXPECT_TRUE(none()) << "labels of one row are not independent rows";
  view.data["multilabel"] = false;
  view.config.strategy.repeat = 2;
  EXPECT_TRUE(none());
  view.config.strategy.repeat = 1;
  view.trials.clear();
  EXPECT_TRUE(none());
  EXPECT_FALSE(noise_band(StudyView(), {}).has_value());
}

// Of 100 rows 0.95 lies between 0.8882 and 0.9785.
TEST(BaselineVerdict, NamesTheBestBaselineThatIsNotBeaten) {
  StudyView view = view_of({0.90, 0.95}, 100);
  const auto verdict = [&] { return baseline_verdict(view, ranking_keys(view)); };
  EXPECT_FALSE(verdict()) << "no baseline";
  view.baselines = {{"constant", {{"val_accuracy", 0.1}}}, {"linear", {{"val_loss", 0.1}}}};
  EXPECT_FALSE(verdict());
  view.baselines.push_back({"trees", {{"val_accuracy", 0.887}}});
  EXPECT_FALSE(verdict()) << "below the noise";
  view.baselines.back().metrics["val_accuracy"] = 0.889;
  ASSERT_TRUE(verdict());
  EXPECT_EQ(verdict()->name, "trees");
  EXPECT_FALSE(verdict()->is_better);
  EXPECT_EQ(verdict()->best, 0.95);
  EXPECT_EQ(verdict()->value, 0.889);
  view.baselines[0].metrics["val_accuracy"] = 0.96;
  ASSERT_TRUE(verdict());
  EXPECT_EQ(verdict()->name, "constant");
  EXPECT_TRUE(verdict()->is_better);
  view.ensemble = Ensemble{};
  view.ensemble->validation["val_accuracy"] = 0.97;
  ASSERT_TRUE(verdict());
  EXPECT_FALSE(verdict()->is_better) << "the ensemble is better";
  EXPECT_EQ(verdict()->best, 0.97);
  view.config.data.rules = kFirstRules;
  EXPECT_FALSE(verdict()) << "the outputs of studies of version 0.1 stay";
}

TEST(BaselineVerdict, KnowsThatALossIsToBeSmall) {
  StudyView view = view_of({0.9}, 100);  // its loss is 0.5
  view.config.goals = {{false, "val_loss"}};
  view.baselines = {{"linear", {{"val_loss", 0.6}}}};
  EXPECT_FALSE(baseline_verdict(view, ranking_keys(view))) << "this goal has no noise band";
  view.baselines[0].metrics["val_loss"] = 0.5;
  ASSERT_TRUE(baseline_verdict(view, ranking_keys(view))) << "equal";
  view.baselines[0].metrics["val_loss"] = 0.4;
  ASSERT_TRUE(baseline_verdict(view, ranking_keys(view)));
  EXPECT_TRUE(baseline_verdict(view, ranking_keys(view))->is_better);
}

}  // namespace
}  // namespace lanista::study
