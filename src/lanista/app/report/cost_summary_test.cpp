#include "lanista/app/report/cost_summary.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace lanista::report {
namespace {

using study::OutcomeKind;
using study::StudyView;
using study::TrialView;

/// A trial that trained `epochs` of `budget` epochs, ten steps and half a second each, on worker 0.
void add_trial(StudyView& view, std::int64_t epochs, std::int64_t budget, std::optional<study::Outcome> outcome) {
  TrialView trial;
  trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
  trial.proposal.budget = budget;
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    trial.measurements.push_back({trial.id, epoch, 10 * epoch, {{"val_accuracy", 0.5}}});
    view.spans.push_back({trial.id, epoch, 0, 100, 100.5});
    view.steps += 10;
  }
  trial.outcome = std::move(outcome);
  view.trials.push_back(std::move(trial));
}

study::Outcome ended(OutcomeKind kind, std::optional<TrialId> same_as = std::nullopt) {
  return {kind, "", same_as, "", {}};
}

TEST(CostSummary, CountsTrialsThatSharedStepsWithOthers) {
  study::StudyView view;
  view.spans = {{TrialId{1}, 1, 0, 0, 1, 2},
                {TrialId{2}, 1, 0, 0, 1, 2},
                {TrialId{2}, 2, 0, 1, 2, 1},
                {TrialId{3}, 1, 1, 0, 1, 1}};
  EXPECT_EQ(summarize_costs(view).trials_sharing_steps, 2);
  EXPECT_EQ(summarize_costs(view).max_lanes, 2);
  view.spans.clear();
  EXPECT_EQ(summarize_costs(view).trials_sharing_steps, 0);
}

TEST(CostSummary, CountsEarlyStopSavings) {
  StudyView view;
  add_trial(view, 9, 9, ended(OutcomeKind::kSucceeded));
  add_trial(view, 1, 9, ended(OutcomeKind::kStopped));
  add_trial(view, 3, 9, ended(OutcomeKind::kStopped));

  const CostSummary found = summarize_costs(view);

  EXPECT_EQ(found.steps, 130);
  EXPECT_DOUBLE_EQ(found.seconds, 6.5);
  EXPECT_EQ(found.early_stop.trials, 2);
  EXPECT_EQ(found.early_stop.epochs, 8 + 6);
  EXPECT_EQ(found.early_stop.steps, 140);
  EXPECT_DOUBLE_EQ(found.early_stop.seconds, 7.0);
}

TEST(CostSummary, LimitsSavingsToStepBudget) {
  StudyView view;
  view.config.train.length.steps_per_epoch = 10;
  view.config.train.length.steps = 84;
  add_trial(view, 1, 9, ended(OutcomeKind::kStopped));

  EXPECT_EQ(summarize_costs(view).early_stop.epochs, 8);
  EXPECT_EQ(summarize_costs(view).early_stop.steps, 74);
}

TEST(CostSummary, DuplicateSavesCostOfOriginal) {
  StudyView view;
  add_trial(view, 9, 9, ended(OutcomeKind::kSucceeded));
  add_trial(view, 2, 9, ended(OutcomeKind::kStopped));
  add_trial(view, 0, 9, ended(OutcomeKind::kDuplicate, TrialId{1}));
  add_trial(view, 0, 9, ended(OutcomeKind::kDuplicate, TrialId{2}));
  add_trial(view, 0, 9, ended(OutcomeKind::kDuplicate, TrialId{77}));

  const CostSummary found = summarize_costs(view);

  EXPECT_EQ(found.dedup.trials, 2) << "a missing original saves nothing";
  EXPECT_EQ(found.dedup.epochs, 9 + 2);
  EXPECT_EQ(found.dedup.steps, 110);
  EXPECT_DOUBLE_EQ(found.dedup.seconds, 5.5);
}

TEST(CostSummary, CountsCostOfFailedTrials) {
  StudyView view;
  add_trial(view, 4, 9, ended(OutcomeKind::kFailed));
  add_trial(view, 0, 9, ended(OutcomeKind::kFailed));
  add_trial(view, 2, 9, std::nullopt);

  const CostSummary found = summarize_costs(view);

  EXPECT_EQ(found.failed_trials_cost.trials, 2);
  EXPECT_EQ(found.failed_trials_cost.steps, 40);
  EXPECT_DOUBLE_EQ(found.failed_trials_cost.seconds, 2.0);
  EXPECT_EQ(found.early_stop.trials, 0);
}

TEST(CostSummary, HasStepsButNoSecondsWithoutSpans) {
  StudyView view;
  add_trial(view, 3, 9, ended(OutcomeKind::kStopped));
  view.spans.clear();

  const CostSummary found = summarize_costs(view);

  EXPECT_EQ(found.early_stop.steps, 60);
  EXPECT_EQ(found.early_stop.seconds, 0);
}

TEST(CostSummary, IsZeroForEmptyStudy) {
  const CostSummary found = summarize_costs(StudyView{});

  EXPECT_EQ(found.steps, 0);
  EXPECT_EQ(found.seconds, 0);
  EXPECT_EQ(found.dedup.trials, 0);
}

TEST(CostSummary, StoppedTrialWithoutMeasurementSavesNothing) {
  StudyView view;
  add_trial(view, 0, 9, ended(OutcomeKind::kStopped));

  EXPECT_EQ(summarize_costs(view).early_stop.steps, 0);
}

}  // namespace
}  // namespace lanista::report
