// Studies that train proposals several times, and studies with constraints.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

const FakeOptions kDisturbed{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6};

study::StudyConfig repeated_study() {
  study::StudyConfig config = small_study(24);
  config.strategy.repeat = 2;
  config.strategy.retry = 1;
  return config;
}

/// The trainings of every proposal, by what they stand for.
std::map<Digest, std::vector<std::pair<double, TrialId>>> trainings_by_decisions(const StudyView& view) {
  std::map<Digest, std::vector<std::pair<double, TrialId>>> trainings;
  for (const TrialView& trial : view.trials) {
    study::Proposal decisions = trial.proposal;
    decisions.repeat = 0;
    double result = trial.measurements.back().metrics.at("val_accuracy");
    for (const study::Measurement& m : trial.measurements) {
      if (view.config.train.measured.keep == "best_epoch") result = std::max(result, m.metrics.at("val_accuracy"));
    }
    trainings[study::run_key(decisions)].emplace_back(result, trial.id);
  }
  return trainings;
}

TEST(RepeatedStudy, NamesBestTrainingOfBestAverage) {
  int luck_would_have_won = 0;
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    Bench bench;
    study::StudyConfig config = repeated_study();
    config.stop = {};
    config.run.seed = seed;
    config.train.measured.keep = seed % 2 == 0 ? study::kKeepLast : study::kKeepBestEpoch;
    const auto summary = bench.run(config, {.seed = 9, .workers = 2, .seed_noise = 3});
    ASSERT_TRUE(summary.ok()) << summary.error().text();

    const StudyView view = bench.view();
    std::pair<double, TrialId> best_of_all{-1, {}}, best_of_best{-1, {}};
    double best_average = -1;
    const auto proposals = trainings_by_decisions(view);
    EXPECT_EQ(proposals.size(), 12U);
    for (const auto& [decisions, trainings] : proposals) {
      ASSERT_EQ(trainings.size(), 2U);
      EXPECT_NE(trainings[0].first, trainings[1].first);
      const auto best = std::max(trainings[0], trainings[1]);
      const double average = (trainings[0].first + trainings[1].first) / 2;
      if (average > best_average) best_of_best = best;
      best_average = std::max(best_average, average);
      best_of_all = std::max(best_of_all, best);
    }
    luck_would_have_won += best_of_all.second != best_of_best.second;

    ASSERT_TRUE(view.winner);
    EXPECT_EQ(*view.winner, best_of_best.second) << seed;
    EXPECT_EQ(ranking(view).front(), best_of_best.second) << seed;
    EXPECT_FALSE(view.trials[view.winner->value - 1].outcome->weights.empty());
  }
  EXPECT_GT(luck_would_have_won, 0);
}

TEST(RepeatedStudy, ResumesIdenticallyWithCheckpointsOfTheKill) {
  FakeOptions options = kDisturbed;
  options.seed_noise = 0.3;
  Bench reference;
  auto snapshots =
      testing::snapshots_of(reference, [&](FileSystem& fs) { return reference.run(repeated_study(), options, fs); });
  const std::string weights = *reference.disk.read(kFolder + "/best/weights.safetensors");
  ASSERT_GT(snapshots.size(), 100U);
  const auto has_log =
      std::ranges::find_if(snapshots, [](const testing::Files& files) { return files.contains(testing::kLog); });
  // The first write is that of the header: before it there is nothing to resume.
  snapshots.erase(snapshots.begin(), has_log + 2);

  std::size_t resumed = 0;
  for (std::size_t cut = 0; cut < snapshots.size(); cut += 3) {
    Bench bench;
    testing::put_all(bench.disk, snapshots[cut]);
    options.seed = cut;
    FakeExecutor executor = bench.executor(bench.disk, options);
    auto engine = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, executor));
    ASSERT_TRUE(engine.ok()) << "cut before change " << cut << ": " << engine.error().text();

    const auto summary = (*engine)->run();

    ASSERT_TRUE(summary.ok()) << "cut before change " << cut << ": " << summary.error().text();
    ASSERT_EQ(bench.canonical(), reference.canonical()) << "cut before change " << cut;
    ASSERT_EQ(*bench.disk.read(kFolder + "/best/weights.safetensors"), weights) << "cut before change " << cut;
    resumed += executor.resumed_from().size();
  }
  EXPECT_GT(resumed, 20U);
}

TEST(RepeatedStudy, RetriesFailedTraining) {
  Bench bench;
  study::StudyConfig config = small_study(20);
  config.strategy.retry = 2;
  FakeOptions options;
  options.fail_one_in = 3;
  ASSERT_TRUE(bench.run(config, options).ok());

  int again = 0;
  for (const TrialView& trial : bench.view().trials) {
    if (trial.proposal.repeat == 0) continue;
    ++again;
    EXPECT_LE(trial.proposal.repeat, 2);
  }
  EXPECT_GT(again, 0);
}

TEST(ConstrainedStudy, MeasuresTheCostsThatGoalsAndConstraintsAskFor) {
  Bench bench;
  study::StudyConfig config = small_study(12);
  config.goals = {{true, "val_accuracy"}, {false, "params"}};
  config.subject_to = {*study::Constraint::parse("val_loss + flops * 0 <= 1.7")};
  ASSERT_TRUE(bench.run(config, {}).ok());

  const StudyView view = bench.view();
  for (const TrialView& trial : view.trials) {
    if (trial.measurements.empty()) continue;
    EXPECT_EQ(trial.measurements.back().metrics.at("params"), static_cast<double>(trial.parameters));
    EXPECT_GT(trial.measurements.back().metrics.at("flops"), 0);
  }
  const auto ranked = study::ranking_keys(view);
  ASSERT_GT(ranked.size(), 2U);
  EXPECT_EQ(ranked.front().violation, 0);
  EXPECT_GT(ranked.back().violation, 0);
  EXPECT_FALSE(study::pareto_front(ranked).empty());
}

TEST(ConstrainedStudy, KeepsModelsWithinTheBoundsOfItsConstraints) {
  Bench bench;
  study::StudyConfig config = small_study(12);
  config.subject_to = {*study::Constraint::parse("params <= 700"), *study::Constraint::parse("momentum <= 0.5")};
  ASSERT_TRUE(bench.run(config, {}).ok());
  for (const TrialView& trial : bench.view().trials) {
    EXPECT_LE(trial.parameters, 700);
    const auto momentum = trial.proposal.sample.find("momentum");
    EXPECT_TRUE(momentum == trial.proposal.sample.end() || std::get<double>(momentum->second) <= 0.5);
    for (const auto& measurement : trial.measurements) EXPECT_FALSE(measurement.metrics.contains("params"));
  }
}

}  // namespace
}  // namespace lanista::engine
