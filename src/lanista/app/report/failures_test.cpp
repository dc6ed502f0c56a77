#include "lanista/app/report/failures.h"

#include <gtest/gtest.h>

namespace lanista::report {
namespace {

study::StudyView failed_with(const std::vector<std::string>& reasons) {
  study::StudyView view;
  for (const std::string& reason : reasons) {
    study::TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
    trial.outcome = study::Outcome{study::OutcomeKind::kFailed, reason, {}, "", {}};
    view.trials.push_back(std::move(trial));
  }
  return view;
}

TEST(Failures, AreGroupedByTextBeforeColon) {
  const auto groups = group_failures(failed_with(
      {"out of memory: 7 MB", "diverged: train_loss is nan at epoch 2", "diverged: val_loss is inf at epoch 9"}));

  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].cause, "diverged");
  EXPECT_EQ(groups[0].count, 2);
  EXPECT_EQ(groups[0].message, "diverged: train_loss is nan at epoch 2");
  EXPECT_EQ(groups[0].first, (std::vector{TrialId{2}, TrialId{3}}));
  EXPECT_EQ(groups[1].cause, "out of memory");
}

TEST(Failures, NumbersDoNotSplitGroup) {
  const auto groups = group_failures(failed_with({"killed in step 12", "killed in step 340"}));

  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].cause, "killed in step #");
}

TEST(Failures, WithoutReasonFormOneGroup) {
  const auto groups = group_failures(failed_with({"", ": nothing before the colon"}));

  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].cause, "no reason given");
  EXPECT_EQ(groups[0].count, 2);
}

TEST(Failures, KeepFirstTenTrialsOfGroup) {
  const auto groups = group_failures(failed_with(std::vector<std::string>(25, "diverged")));

  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].count, 25);
  ASSERT_EQ(groups[0].first.size(), 10U);
  EXPECT_EQ(groups[0].first.back(), TrialId{10});
}

TEST(Failures, IgnoreOtherOutcomes) {
  study::StudyView view = failed_with({"stopped by the user", "still going"});
  view.trials[0].outcome->kind = study::OutcomeKind::kCancelled;
  view.trials[1].outcome.reset();

  EXPECT_TRUE(group_failures(view).empty());
}

}  // namespace
}  // namespace lanista::report
