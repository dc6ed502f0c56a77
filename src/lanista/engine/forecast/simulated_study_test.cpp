#include "lanista/engine/forecast/simulated_study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/search/tuning/extra_steps.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::small_data;
using testing::small_study;

ClusterFile workers(std::int64_t count) {
  ClusterFile on;
  on.cluster.workers = count;
  on.cluster.widest = on.cluster.shares = 1;
  on.cluster.memory = 1e18;
  return on;
}

/// A study of one model that needs equal time in every trial.
study::StudyConfig equal_trials(const std::string& rule, const Options& options, std::int64_t epochs,
                                std::int64_t trials) {
  study::StudyConfig config = small_study(trials);
  config.space.mutate.clear();
  config.space.params = {};
  LANISTA_CHECK(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {}}).ok(), "the test's own");
  config.train.length.epochs = epochs;
  config.strategy = {"random", 27, Options::object()};
  config.stop = {rule, options};
  return config;
}

Result<Forecast> simulated(const study::StudyConfig& config, const ClusterFile& on) {
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), ".", disk);
  LANISTA_CHECK(models.ok(), models ? "" : models.error().text());
  return forecast_study(config, small_data(), *models, {}, on);
}

// By hand: 27 trials train 1 epoch, 9 of them 2 more, 3 of these 6 more, 1 of these 18 more.
TEST(SimulatedStudy, MatchesSuccessiveHalving) {
  const auto config = equal_trials("successive_halving", {{"trials", 27}, {"cycles", 1}}, 27, 27);
  const auto one = simulated(config, workers(1));
  const auto whole = simulated(equal_trials("none", Options::object(), 27, 27), workers(1));
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(one->trials, 27);
  EXPECT_EQ(one->resumptions, 9 + 3 + 1);
  EXPECT_EQ(one->ended_early, 26);
  const double epoch = whole->course.makespan / (27 * 27);
  EXPECT_EQ(whole->ended_early, 0);
  EXPECT_NEAR(one->course.makespan / epoch, 27 + 9 * 2 + 3 * 6 + 18, 1e-6);
  EXPECT_NEAR(one->bounds.best() / epoch, 27 + 9 * 2 + 3 * 6 + 18, 1e-6);

  std::map<std::int64_t, double> trained;
  for (const plan::PlacementInterval& stretch : one->course.placement_intervals)
    trained[stretch.id] += stretch.ended - stretch.began;
  std::map<std::int64_t, int> of_length;
  for (const auto& [trial, seconds] : trained) ++of_length[std::llround(seconds / epoch)];
  EXPECT_EQ(of_length, (std::map<std::int64_t, int>{{1, 18}, {3, 6}, {9, 2}, {27, 1}}));
}

Result<std::optional<LastRungForecast>> last_rung_of(const study::StudyConfig& config) {
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), ".", disk);
  LANISTA_CHECK(models.ok(), models ? "" : models.error().text());
  return forecast_last_rung(config, small_data(), *models);
}

TEST(LastRungForecast, CountsTrialsThatTrainToTheEnd) {
  const auto whole = last_rung_of(equal_trials("successive_halving", {{"trials", 27}, {"cycles", 1}}, 27, 27));
  ASSERT_TRUE(whole && *whole) << (whole ? "" : whole.error().text());
  EXPECT_EQ((*whole)->trials, 27);
  EXPECT_EQ((*whole)->to_end, 1);
  EXPECT_EQ((*whole)->epochs, 27);
  const auto none = last_rung_of(equal_trials("none", Options::object(), 27, 27));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value()) << "a study without rungs";
  study::StudyConfig dehb = equal_trials("none", Options::object(), 81, 60);
  dehb.strategy.name = "dehb";
  const auto sixty = last_rung_of(dehb);
  ASSERT_TRUE(sixty && *sixty) << (sixty ? "" : sixty.error().text());
  EXPECT_EQ((*sixty)->to_end, 1);
  dehb.data.rules = study::kFirstRules;
  EXPECT_FALSE(last_rung_of(dehb).ok()) << "the first rules fill a rung with 81 trials";
}

TEST(LastRungForecast, RefusesBudgetsWithoutATrialToTheEnd) {
  study::StudyConfig config = equal_trials("hyperband", Options::object(), 9, 20);
  config.budget.steps = 17;  // nine epochs have two steps each
  const auto steps = last_rung_of(config);
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.error().where, "budget.steps");
  EXPECT_NE(steps.error().message.find("one trial has 18 steps; raise budget.steps"), std::string::npos)
      << steps.error().message;
  config.budget.steps = 18;
  EXPECT_TRUE(last_rung_of(config).ok());
  const auto stopped = last_rung_of(equal_trials("asha", {{"bootstrap", 8}}, 9, 6));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().where, "stop.bootstrap");
}

// Computed by hand: ten trials of the search, and two more for the epochs that its searches discard.
TEST(SimulatedStudy, RetrainsBestAfterSearch) {
  study::StudyConfig config = equal_trials("none", Options::object(), 9, 10);
  const auto searched = simulated(config, workers(1));
  config.budget.trials = 12;
  config.strategy.then = {{"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}}}}}, 2, 1'000'000};
  const auto staged = simulated(config, workers(1));
  ASSERT_TRUE(searched) << searched.error().text();
  ASSERT_TRUE(staged) << staged.error().text();
  EXPECT_EQ(staged->trials, 12);
  study::Recipe recipe;
  recipe.batch = config.data.batch;
  const study::EpochSchedule epochs = study::epoch_schedule_of(recipe, small_data().split_rows[0]);
  const auto rules = *study::tune_rules(config.strategy.then->tune);
  const auto discarded = static_cast<double>(study::search_steps(rules, epochs, 9).expected_steps());
  const auto own = static_cast<double>(epochs.steps_through(9));
  ASSERT_GT(discarded, 0);
  const double step = searched->course.makespan / (10 * own);
  EXPECT_NEAR((staged->course.makespan - searched->course.makespan) / step, 2 * (own + discarded), 1e-6);
}

// Computed by hand for nine workers: 3 rounds of one epoch, then one of 2, of 6 and of 18. Waits at rungs are
// unavoidable.
TEST(SimulatedStudy, WaitsAtRungs) {
  const auto config = equal_trials("successive_halving", {{"trials", 27}, {"cycles", 1}}, 27, 27);
  const auto one = simulated(config, workers(1)), nine = simulated(config, workers(9));
  ASSERT_TRUE(nine) << nine.error().text();
  const double epoch = one->course.makespan / 81;
  EXPECT_NEAR(nine->course.makespan / epoch, 3 + 2 + 6 + 18, 1e-6);
  EXPECT_NEAR(nine->fifo_seconds / epoch, 3 + 2 + 6 + 18, 1e-6);
  EXPECT_NEAR(nine->bounds.best() / epoch, 27, 1e-6) << "the trial that trains to its end";
  EXPECT_NEAR(nine->course.utilisation(), 81.0 / (9 * 29), 1e-6);
}

// Published for R = 27, eta = 3: brackets of 27, 12, 6, 4 trials.
TEST(SimulatedStudy, HasHyperbandsBrackets) {
  const auto forecast = simulated(equal_trials("hyperband", {{"cycles", 1}}, 27, 1000), workers(4));
  ASSERT_TRUE(forecast) << forecast.error().text();
  EXPECT_EQ(forecast->trials, 27 + 12 + 6 + 4);
  EXPECT_EQ(forecast->resumptions, (9 + 3 + 1) + (4 + 1) + 2);
}

TEST(SimulatedStudy, StopsAtRungsDeterministically) {
  for (const char* type : {"stopping", "promotion"}) {
    const auto config = equal_trials("asha", {{"min", 1}, {"eta", 3}, {"type", type}}, 9, 30);
    const auto forecast = simulated(config, workers(2)), again = simulated(config, workers(2));
    ASSERT_TRUE(forecast) << forecast.error().text();
    EXPECT_EQ(forecast->trials, 30);
    EXPECT_GT(forecast->ended_early, type == std::string("stopping") ? 10 : -1);
    EXPECT_EQ(forecast->resumptions > 0, type == std::string("promotion"));
    EXPECT_GE(forecast->course.makespan, forecast->bounds.best() * (1 - 1e-9));
    EXPECT_EQ(forecast_json(*forecast), forecast_json(*again));
    EXPECT_NE(forecast_text(*forecast).find("results are made up (seed 7)"), std::string::npos);
  }
}

TEST(SimulatedStudy, CountsStepsOfEpochsThatGrow) {
  study::StudyConfig config = equal_trials("none", Options::object(), 4, 3);
  const auto plain = simulated(config, workers(1));
  config.train.length.all_rows_at = 4;
  const auto growing = simulated(config, workers(1));
  ASSERT_TRUE(growing) << growing.error().text();
  const std::int64_t rows = small_data().split_rows[0], batch = 8;
  double whole = 0, grown = 0;
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
    std::int64_t share = 0;
    while (share * 4 < epoch * rows) ++share;
    for (; share > 0; share -= batch) ++grown;
    for (std::int64_t left = rows; left > 0; left -= batch) ++whole;
  }
  EXPECT_NEAR(growing->course.makespan / plain->course.makespan, grown / whole, 1e-9);
}

TEST(SimulatedStudy, NamesTrialAboveWorkerMemory) {
  ClusterFile on = workers(2);
  on.cluster.memory = 1000;
  const auto forecast = simulated(equal_trials("none", Options::object(), 3, 3), on);
  ASSERT_FALSE(forecast);
  EXPECT_EQ(forecast.error().code, Code::kResourceExhausted);
  EXPECT_EQ(forecast.error().where, "memory_mb");
  EXPECT_NE(forecast.error().text().find("trial 1 needs "), std::string::npos) << forecast.error().text();
  EXPECT_NE(forecast.error().text().find("has 0.00 MB"), std::string::npos) << forecast.error().text();
}

TEST(SimulatedStudy, EndsWithTheSpace) {
  study::StudyConfig config = equal_trials("none", Options::object(), 4, 3);
  config.budget.trials = 5;
  config.space.params = {};
  ASSERT_TRUE(config.space.params.add({"lr", space::Categorical{{space::Value(0.1), space::Value(0.2)}}, {}}));
  config.strategy = {"grid", 2, Options::object()};
  const auto two = simulated(config, workers(1));
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(two->trials, 2);
}

}  // namespace
}  // namespace lanista::engine
