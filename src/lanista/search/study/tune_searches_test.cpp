#include "lanista/search/study/tune_searches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::study {
namespace {

Branch tried(std::int64_t step, double lr, std::int64_t steps, const std::string& trend, double speed, bool kept) {
  return {step, {{"lr", lr}}, steps, trend, speed, kept};
}

TrialView searching() {
  TrialView trial;
  trial.id = TrialId{1};
  trial.measurements = {
      {trial.id,
       1,
       40,
       {},
       {{0, {}, 10, "start", 2.5, false},
        tried(0, 0.1, 8, "converging", 0.125, true),
        tried(0, 0.01, 4, "converging", 0, false),
        tried(0, 1, 4, "diverged", 0, false)}},
      {trial.id, 2, 80, {}},
      {trial.id, 3, 120, {}, {{80, {}, 0, "start", std::nan(""), false}, tried(80, 0.1, 4, "unstable", 0.25, false)}}};
  return trial;
}

TEST(TuneSearches, IgnoreAdaptiveBatchChanges) {
  TrialView trial = searching();
  const Branch adapted{40, {{"batch", std::int64_t{64}}, {"lr", 0.1}}, 0, "adapted", 1.2, true};
  trial.measurements[1].branches = {adapted};
  EXPECT_EQ(searches_of(trial).size(), 2U);
  EXPECT_EQ(*batch_change_before(trial.measurements[1]), adapted);
  EXPECT_EQ(batch_change_before(trial.measurements[0]), nullptr);
  EXPECT_EQ(batch_change_before({}), nullptr);
  EXPECT_EQ(schedule_of(trial.measurements).size(), 2U) << "its setting counts like those of searches";
}

TEST(TuneSearches, AreReadFromMeasurements) {
  const TrialView trial = searching();
  const auto searches = searches_of(trial);

  ASSERT_EQ(searches.size(), 2U);
  EXPECT_EQ(searches[0].epoch, 1);
  EXPECT_EQ(searches[0].branches.size(), 3U);
  EXPECT_EQ(searches[0].steps, 26);
  EXPECT_EQ(searches[0].discarded(), 18);
  ASSERT_NE(searches[0].kept, nullptr);
  EXPECT_EQ(final_loss_of(searches[0], *searches[0].kept), 1.5);
  EXPECT_EQ(final_loss_of(searches[0], *searches[0].branches[1]), 2.5) << "it did not fall";
  EXPECT_EQ(final_loss_of(searches[0], *searches[0].branches[2]), std::nullopt) << "it diverged";
  EXPECT_EQ(searches[1].step, 80);
  EXPECT_EQ(searches[1].kept, nullptr);
  EXPECT_EQ(searches[1].discarded(), 4);
  EXPECT_EQ(final_loss_of(searches[1], *searches[1].branches[0]), std::nullopt) << "no loss at the start";
}

TEST(TuneSearches, CountsSearchesOfStudy) {
  StudyView view;
  EXPECT_EQ(searches_text(search_counts(view)), "");
  view.trials = {searching(), searching(), TrialView{}};
  const SearchCounts counts = search_counts(view);
  EXPECT_EQ(counts.successful, 2);
  EXPECT_EQ(searches_text(counts), "2 trials searched for settings 4 times: 8 branches, 44 steps given up");
}

/// The final loss of a raced branch is the mean over the later half of its losses.
TEST(TuneSearches, ReportFinalLossOfRacedBranch) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    TuneRules rules;
    rules.halving = 2;
    rules.time = 4;
    rules.parallel_tries = 4;
    TuneSearch search(rules, 100, 4, [](std::span<const Try> tries) {
      return std::optional(space::Sample{{"lr", 0.1 * static_cast<double>(tries.size() + 1)}});
    });
    while (!search.round().branches.empty()) {
      for (const std::size_t branch : search.round().branches) {
        std::vector<double> losses;
        for (auto k = std::ssize(search.tries()[branch].losses); k < search.round().steps; ++k) {
          losses.push_back(k == 0 ? 2 : rng.uniform(0.5, 1.5));
        }
        search.add_losses(branch, losses);
      }
      search.end_round();
    }
    TrialView trial;
    trial.measurements = {{TrialId{1}, 1, 40, {}, {{0, {}, 0, "start", search.start_loss(), false}}}};
    for (const Try& one : search.tries()) {
      trial.measurements[0].branches.push_back(
          {0, one.setting, std::ssize(one.losses), std::string(kConverging), one.speed, false});
    }
    const auto seen = searches_of(trial);
    for (std::size_t k = 0; k < search.tries().size(); ++k) {
      const auto& losses = search.tries()[k].losses;
      double later = 0;
      for (std::size_t i = losses.size() / 2; i < losses.size(); ++i) later += losses[i];
      later /= static_cast<double>(losses.size() - losses.size() / 2);
      ASSERT_TRUE(final_loss_of(seen[0], *seen[0].branches[k]).has_value());
      EXPECT_NEAR(*final_loss_of(seen[0], *seen[0].branches[k]), later, 1e-12) << seed;
    }
  }
}

TEST(StrategyText, NamesSearchStoppingAndTuning) {
  StudyConfig config;
  config.strategy.name = "evolution";
  config.stop.rule = "none";
  EXPECT_EQ(strategy_text(config), "evolution");
  config.stop.rule = "asha";
  config.train.tune.name = std::string(kAdaptive);  // searches nothing
  EXPECT_EQ(strategy_text(config), "evolution+asha");
  config.train.tune.name = "mltuner";
  EXPECT_EQ(strategy_text(config), "evolution+asha, tuned by mltuner");
  config.train.tune.name = std::string(kReplaySchedule);
  config.strategy.then.emplace().tune.name = "mltuner";
  EXPECT_EQ(strategy_text(config), "evolution+asha, then mltuner");
}

}  // namespace
}  // namespace lanista::study
