#include "lanista/search/study/worker_usage.h"

#include <gtest/gtest.h>

namespace lanista::study {
namespace {

StudyView worked_on(const std::vector<Span>& spans, std::uint32_t trials) {
  StudyView view;
  for (std::uint32_t id = 1; id <= trials; ++id) view.trials.emplace_back().id = TrialId{id};
  view.spans = spans;
  return view;
}

TEST(WorkerUsage, SumsSpans) {
  const WorkerUsage use =
      worker_usage(worked_on({{TrialId{1}, 1, 0, 1, 3}, {TrialId{2}, 1, 1, 1, 2}, {TrialId{2}, 2, 1, 4, 5}}, 2));

  EXPECT_EQ(use.workers(), 2);
  EXPECT_DOUBLE_EQ(use.seconds, 4);
  EXPECT_DOUBLE_EQ(use.busy_seconds(), 4);
  EXPECT_DOUBLE_EQ(use.utilisation(), 0.5);
  EXPECT_EQ(worker_usage(worked_on({}, 1)).workers(), 0);
}

TEST(WorkerUsage, CountsSharedStepsOnce) {
  const WorkerUsage use = worker_usage(worked_on({{TrialId{1}, 1, 3, 0, 1, 2}, {TrialId{2}, 1, 3, 1, 2, 2}}, 2));

  EXPECT_EQ(use.busy, (std::map<std::int64_t, double>{{3, 2.0}}));
  EXPECT_DOUBLE_EQ(use.utilisation(), 1);
}

TEST(WaitingTrials, ReportReasons) {
  StudyView view = worked_on({{TrialId{1}, 1, 0, 0, 1}}, 6);
  for (const std::size_t paused : {1U, 4U, 5U}) view.trials[paused].paused = true;
  view.trials[4].rungs = view.trials[5].rungs = {3};
  view.trials[3].outcome = Outcome{OutcomeKind::kSucceeded, "", {}, "", {}};

  const auto waiting = trials_waiting(view);

  ASSERT_EQ(waiting.size(), 4U);
  EXPECT_EQ(waiting[0].trial, TrialId{2});
  EXPECT_EQ(waiting[0].what, WaitReason::kStrategy);
  EXPECT_NE(waiting[0].why.find("paused after epoch 0"), std::string::npos);
  EXPECT_EQ(waiting[1].trial, TrialId{3});
  EXPECT_NE(waiting[1].why.find("2 trials are open"), std::string::npos);
  EXPECT_EQ(waiting[3].what, WaitReason::kRung);
  EXPECT_EQ(waiting_text(waiting), "2 wait for their rung, 1 for its strategy, 1 for a worker");
  EXPECT_EQ(waiting_text({waiting[1]}), "1 waits for a worker");
  view.end_reason = "budget";
  EXPECT_TRUE(trials_waiting(view).empty());
  EXPECT_EQ(waiting_text({}), "");
}

TEST(TrialWidths, ListTrialsWithSeveralWorkers) {
  StudyView view;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    TrialView trial;
    trial.id = TrialId{id};
    view.trials.push_back(std::move(trial));
  }
  const auto span = [&](std::uint32_t trial, std::int64_t epoch, std::int64_t width, double step) {
    view.spans.push_back({TrialId{trial}, epoch, 0, 0, 1, 1, width, {10, 10 * step, 0, 0, 0, 0, 0}});
  };
  span(1, 1, 1, 0.004);
  EXPECT_EQ(widths_text(view), "");
  span(2, 1, 1, 0.004);
  span(2, 2, 2, 0.0025);
  span(2, 3, 2, 0.0035);
  span(2, 4, 2, 0.003);
  span(3, 1, 2, 0.009);
  view.spans.push_back({TrialId{3}, 2, 0, 0, 1});  // a version that does not record costs
  const auto widths = trial_widths(view);
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_EQ(widths[0].trial, TrialId{2});
  EXPECT_EQ(widths[0].last, 2);
  EXPECT_EQ(widths[0].step_seconds, (std::map<std::int64_t, double>{{1, 0.004}, {2, 0.003}}));
  EXPECT_EQ(widths_text(view),
            "trial 2 by 2 workers (3 ms a step; 4 ms by 1 worker), trial 3 by 1 worker (9 ms by 2 workers)");
  view.trials[2].paused = true;
  EXPECT_EQ(widths_text(view),
            "trial 2 by 2 workers (3 ms a step; 4 ms by 1 worker), 1 trial had more than one worker at times");
}

}  // namespace
}  // namespace lanista::study
