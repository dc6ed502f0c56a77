// Studies whose proposals are trained several times, and those with constraints: what the engine adds to both.
#include <gtest/gtest.h>

#include <map>

#include "lanista/base/frame.h"
#include "lanista/engine/test_support.h"

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

TEST(RepeatedStudy, TrainsEveryProposalAgainAndNamesTheBestTrainingOfTheBestAverage) {
  Bench bench;
  const auto summary = bench.run(repeated_study(), kDisturbed);
  ASSERT_TRUE(summary.ok()) << summary.error().text();

  const StudyView view = bench.view();
  std::map<std::int64_t, int> repeats;
  for (const TrialView& trial : view.trials) {
    ++repeats[trial.proposal.repeat];
    EXPECT_NE(trial.outcome->kind, study::OutcomeKind::kDuplicate);
  }
  EXPECT_GT(repeats[0], 4);
  EXPECT_GT(repeats[1], 4);
  ASSERT_TRUE(view.winner);
  EXPECT_EQ(ranking(view).front(), *view.winner);
  EXPECT_FALSE(view.trials[view.winner->value - 1].outcome->weights.empty());
  EXPECT_EQ(view.config.strategy.repeat, 2);
}

TEST(RepeatedStudy, GoesOnIdenticallyAfterAKill) {
  Bench reference;
  ASSERT_TRUE(reference.run(repeated_study(), kDisturbed).ok());
  const std::string path = kFolder + "/log/000001.log";
  const std::string log = *reference.disk.read(path);
  std::string prefix;
  std::uint64_t cut = 0;
  for (const Frame& frame : decode_frames(log).frames) {
    encode_frame(frame.type, frame.payload, prefix);
    if (++cut % 3 != 0) continue;
    Bench bench;
    testing::copy_without_best(reference.disk, bench.disk);
    bench.disk.put(path, prefix);
    FakeOptions options = kDisturbed;
    options.seed = cut;

    const auto summary = bench.resume(options);

    ASSERT_TRUE(summary.ok()) << "cut behind record " << cut << ": " << summary.error().text();
    ASSERT_EQ(bench.canonical(), reference.canonical()) << "cut behind record " << cut;
  }
  EXPECT_GT(cut, 100U);
}

TEST(RepeatedStudy, DoesAFailedTrainingAgain) {
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
  const auto ranked = study::standings(view);
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

TEST(StudyFile, KeepsConstraintsAndRepeats) {
  const auto config = read_study(
      "subject_to: [val_loss <= 1, \"params <= 50k\"]\n"
      "strategy: {name: tpe, repeat: 3, average: median, retry: 1}\n"
      "goal: [maximize val_accuracy, minimize params]\n",
      "s.yaml");
  ASSERT_TRUE(config.ok()) << config.error().text();
  const auto again = read_study(write_study(*config), "again.yaml");
  ASSERT_TRUE(again.ok()) << again.error().text();
  for (const study::StudyConfig& each : {*config, *again}) {
    ASSERT_EQ(each.subject_to.size(), 2U);
    EXPECT_EQ(each.subject_to[1].text(), "params <= 50k");
    EXPECT_EQ(each.strategy.repeat, 3);
    EXPECT_EQ(each.strategy.average, "median");
    EXPECT_EQ(each.strategy.retry, 1);
  }
  EXPECT_EQ(read_study("subject_to: val_loss < 1", "s.yaml").error().message,
            "s.yaml:1:13: subject_to: 'val_loss < 1' is no constraint: at '< 1', '<=' or '>=' is wanted");
  EXPECT_FALSE(read_study("strategy: {repeat: 0}", "s.yaml").ok());
  EXPECT_FALSE(read_study("strategy: {average: mode}", "s.yaml").ok());
}

}  // namespace
}  // namespace lanista::engine
