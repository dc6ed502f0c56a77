#include "lanista/search/study/trainings.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/search/study/study_view.h"

namespace lanista::study {
namespace {

StudyConfig three_seeds() {
  StudyConfig config;
  config.strategy.repeat = 3;
  config.strategy.retry = 1;
  return config;
}

TEST(Trainings, CountRepeatsPlusRetries) {
  const StudyConfig config = three_seeds();
  EXPECT_EQ(trainings_missing(config, {.proposed = 1}), 2);
  EXPECT_EQ(trainings_missing(config, {.proposed = 3}), 0);
  EXPECT_EQ(trainings_missing(config, {.proposed = 3, .succeeded = 2, .failed = 1}), 1);
  EXPECT_EQ(trainings_missing(config, {.proposed = 4, .succeeded = 2, .failed = 2}), 0);
  EXPECT_EQ(trainings_missing(StudyConfig(), {.proposed = 1, .failed = 1}), 0);
  EXPECT_FALSE(trainings_done(config, {.proposed = 3, .succeeded = 2}));
  EXPECT_TRUE(trainings_done(config, {.proposed = 4, .succeeded = 3, .failed = 1}));
}

TEST(Trainings, EndAfterStopCancelOrTooManyFailures) {
  const StudyConfig config = three_seeds();
  EXPECT_EQ(trainings_missing(config, {.proposed = 1, .stopped = 1}), 0);
  EXPECT_EQ(joint_outcome(config, {.proposed = 2, .succeeded = 1, .stopped = 1}), OutcomeKind::kStopped);
  EXPECT_EQ(joint_outcome(config, {.proposed = 2, .succeeded = 1, .cancelled = 1}), OutcomeKind::kCancelled);
  EXPECT_EQ(joint_outcome(config, {.proposed = 4, .succeeded = 3, .failed = 1}), OutcomeKind::kSucceeded);
  EXPECT_EQ(joint_outcome(config, {.proposed = 3, .stopped = 1, .failed = 2}), OutcomeKind::kFailed);
}

TEST(Trainings, AreOnePerFoldAndRepeat) {
  StudyConfig config = three_seeds();
  EXPECT_EQ(trainings_per_proposal(config), 3);
  config.data.folds = 5;
  EXPECT_EQ(trainings_per_proposal(config), 15);
  EXPECT_EQ(trainings_missing(config, {.proposed = 6, .succeeded = 5, .failed = 1}), 10);
  EXPECT_FALSE(trainings_done(config, {.proposed = 14, .succeeded = 14}));
  EXPECT_EQ(trainings_missing(config, {.proposed = 4, .succeeded = 3, .stopped = 1}), 11)
      << "one easy fold does not decide";
  EXPECT_EQ(trainings_missing(config, {.proposed = 4, .succeeded = 3, .cancelled = 1}), 0);
  EXPECT_TRUE(trainings_done(config, {.proposed = 15, .succeeded = 15}));
}

TEST(Trainings, MatchTextbookSpread) {
  // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32.
  std::vector<Measurement> all;
  for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0})
    all.push_back({TrialId{1}, 1, 1, {{"acc", value}}});
  std::vector<const Measurement*> some;
  for (const Measurement& m : all) some.push_back(&m);
  const auto spread = spread_of(some, "acc");
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(spread->mean, 5);
  EXPECT_NEAR(spread->deviation, 2.13809, 1e-5);
  EXPECT_NEAR(spread->standard_error, 0.755929, 1e-6);
  EXPECT_FALSE(spread_of(some, "loss"));
  EXPECT_FALSE(spread_of({&all[0]}, "acc"));
}

TEST(Trainings, AreAveragedByMeanOrMedianInAnyOrder) {
  StudyConfig config = three_seeds();
  const Measurement a{TrialId{3}, 5, 50, {{"acc", 0.1}, {"only", 1}}}, b{TrialId{1}, 6, 40, {{"acc", 0.2}}},
      c{TrialId{2}, 7, 60, {{"acc", 0.9}}};
  const Measurement mean = average(config, {&a, &b, &c});
  EXPECT_DOUBLE_EQ(mean.metrics.at("acc"), 0.4);
  EXPECT_EQ(mean.metrics.size(), 1U);
  EXPECT_EQ(mean.trial, TrialId{1});
  EXPECT_EQ(mean.epoch, 5);
  EXPECT_EQ(mean.step, 40);
  EXPECT_EQ(average(config, {&c, &b, &a}).metrics, mean.metrics);
  config.strategy.average = "median";
  EXPECT_EQ(average(config, {&a, &b, &c}).metrics.at("acc"), 0.2);
  EXPECT_DOUBLE_EQ(average(config, {&a, &c}).metrics.at("acc"), 0.5);
  const Measurement lost{TrialId{4}, 5, 50, {{"acc", NAN}}};
  EXPECT_TRUE(std::isnan(average(config, {&a, &b, &lost}).metrics.at("acc")));
}

std::vector<Measurement> curve(std::uint32_t trial, const std::vector<std::pair<std::int64_t, double>>& accuracies) {
  std::vector<Measurement> out;
  for (const auto& [epoch, accuracy] : accuracies) {
    out.push_back({TrialId{trial}, epoch, 10 * epoch, {{"acc", accuracy}}});
  }
  return out;
}

TEST(Trainings, AreComparedAtCommonEpochs) {
  const auto a = curve(1, {{1, 0.1}, {3, 0.3}, {9, 0.9}}), b = curve(2, {{1, 0.2}, {2, 0.4}, {3, 0.6}});
  const auto common = common_measurements({a, b});
  ASSERT_EQ(common.size(), 2U);
  EXPECT_EQ(common[0], (std::vector<const Measurement*>{&a[0], &b[0]}));
  EXPECT_EQ(common[1], (std::vector<const Measurement*>{&a[1], &b[2]}));
  EXPECT_TRUE(common_measurements({a, {}}).empty());
}

TEST(Trainings, AverageStoppedTrainingAtCommonEpochs) {
  StudyConfig config;
  config.goals = {{true, "acc"}};
  config.strategy.repeat = 2;
  TrialView whole, stopped;
  whole.id = TrialId{1}, stopped.id = TrialId{2};
  whole.measurements = curve(1, {{1, 0.3}, {3, 0.5}, {9, 0.9}});
  stopped.measurements = curve(2, {{1, 0.1}});
  whole.outcome = Outcome();
  stopped.outcome = Outcome();
  stopped.outcome->kind = OutcomeKind::kStopped;
  const auto joint = joint_ranking_key(config, {&whole, &stopped});
  ASSERT_TRUE(joint);
  EXPECT_EQ(joint->trial, TrialId{1});
  EXPECT_DOUBLE_EQ(joint->losses[0].second, -0.2);
}

}  // namespace
}  // namespace lanista::study
