#include "lanista/app/report/makespan_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "lanista/base/rng.h"

namespace lanista::report {
namespace {

study::StudyView with_trials(std::uint32_t trials) {
  study::StudyView view;
  for (std::uint32_t id = 1; id <= trials; ++id) view.trials.emplace_back().id = TrialId{id};
  return view;
}

TEST(MakespanBound, IsMaximumOfWorkAndLongestTrial) {
  study::StudyView view = with_trials(3);
  view.spans = {{TrialId{1}, 1, 0, 1, 3}, {TrialId{2}, 1, 1, 1, 2}, {TrialId{2}, 2, 1, 4, 5}};
  const MakespanBound bound = makespan_bound(view);
  EXPECT_EQ(bound.workers, 2);
  EXPECT_DOUBLE_EQ(bound.measured_seconds, 4);
  EXPECT_DOUBLE_EQ(bound.seconds(), 2);
  EXPECT_DOUBLE_EQ(bound.gap(), 1);
  EXPECT_DOUBLE_EQ(makespan_bound(with_trials(1)).seconds(), 0);
  EXPECT_DOUBLE_EQ(makespan_bound(with_trials(1)).gap(), 0);
}

TEST(MakespanBound, LeavesOutTimeWithoutWorkerAfterLosses) {
  study::StudyView view = with_trials(3);
  // Worker 0 works in 1 to 3 and 8 to 9, worker 1 in 1 to 2, 2.5 to 4 and 8 to 8.5: none from 4 to 8.
  view.spans = {{TrialId{1}, 1, 0, 1, 3},
                {TrialId{2}, 1, 1, 1, 2},
                {TrialId{3}, 1, 1, 2.5, 4},
                {TrialId{3}, 2, 1, 8, 8.5},
                {TrialId{1}, 2, 0, 8, 9}};
  EXPECT_DOUBLE_EQ(makespan_bound(view).measured_seconds, 8);
  EXPECT_DOUBLE_EQ(makespan_bound(view).waited_seconds, 0);
  view.workers.lost = 1;
  const MakespanBound bound = makespan_bound(view);
  EXPECT_DOUBLE_EQ(bound.measured_seconds, 4);
  EXPECT_DOUBLE_EQ(bound.waited_seconds, 4);
  EXPECT_GE(bound.gap(), 0);
  EXPECT_NE(bounds_text(bound).find("Not counted: 4 s in which no worker worked"), std::string::npos);
}

TEST(MakespanBound, UsesShareOfEachLane) {
  study::StudyView view = with_trials(2);  // both ran for 4 seconds on one worker; two workers would need 2
  view.spans = {{TrialId{1}, 1, 0, 0, 2, 2}, {TrialId{2}, 1, 0, 2, 4, 2}, {TrialId{1}, 2, 1, 3.5, 4}};
  const MakespanBound bound = makespan_bound(view);
  EXPECT_DOUBLE_EQ(bound.bounds.area, 4.5 / 2);
  EXPECT_DOUBLE_EQ(bound.bounds.longest, 2.5);
  EXPECT_DOUBLE_EQ(bound.measured_seconds, 4);
}

/// A trial of the test: seconds on one worker, and the share that a second worker does not shorten.
struct Model {
  double alone = 0, serial = 0;
  double seconds(std::int64_t width) const {
    const auto workers = static_cast<double>(width);
    return alone * (1 + serial * (workers - 1)) / workers;
  }
};

/// A study on two workers: trials one after the other on both workers, or side by side, in whole epochs with gaps.
struct RandomStudy {
  study::StudyView view;
  std::vector<Model> models;
};

RandomStudy random_study(Rng rng) {
  constexpr std::int64_t kEpochs = 4;
  RandomStudy out{with_trials(4), {}};
  out.view.config.train.numerics.shards = 2;
  std::array<double, 2> free{0, 0};
  for (std::uint32_t id = 1; id <= 4; ++id) {
    const Model model{rng.uniform(1, 9), rng.uniform(0, 1)};
    out.models.push_back(model);
    double over = 0;
    for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
      const std::int64_t width = epoch <= 2 ? epoch : rng.between(1, 2);  // each width is timed at least once
      const double seconds = model.seconds(width) / kEpochs;
      const std::size_t worker = width == 2 || free[0] <= free[1] ? 0 : 1;
      double began = width == 2 ? std::max(free[0], free[1]) : free[worker];
      began = std::max(began, over) + rng.uniform(0, 0.3);
      over = free[worker] = began + seconds;
      if (width == 2) free[1] = over;
      out.view.spans.push_back({TrialId{id},
                                epoch,
                                static_cast<std::int64_t>(worker),
                                began,
                                began + seconds,
                                1,
                                width,
                                {10, seconds, 0, 0, 0, 0, 0}});
    }
  }
  return out;
}

/// The first time of a fine grid for which some fixed widths fit, by exhaustive search.
double dual_by_trying(const std::vector<Model>& models, double step) {
  for (double limit = step;; limit += step) {
    double area = 0;
    for (const Model& model : models) {
      double bound = std::numeric_limits<double>::infinity();
      for (const std::int64_t width : {1, 2}) {
        const double seconds = model.seconds(width);
        if (seconds <= limit) bound = std::min(bound, static_cast<double>(width) * seconds);
      }
      area += bound;
    }
    if (area <= 2 * limit) return limit;
  }
}

TEST(MakespanBound, IsBelowRunsAndEqualsSearchedOptimum) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomStudy played = random_study(Rng(seed));
    const MakespanBound bound = makespan_bound(played.view);
    double area = 0, longest = 0;
    for (const Model& model : played.models) {
      area += model.alone / 2;
      longest = std::max(longest, model.seconds(2));
    }
    EXPECT_NEAR(bound.bounds.area, area, 1e-9) << seed;
    EXPECT_NEAR(bound.bounds.longest, longest, 1e-9) << seed;
    EXPECT_NEAR(bound.bounds.dual, dual_by_trying(played.models, 1e-3), 1.1e-3) << seed;
    EXPECT_LE(bound.seconds(), bound.measured_seconds * (1 + 1e-12)) << seed;
    EXPECT_GE(bound.gap(), 0);
    EXPECT_EQ(bound.gains_measured, 4);
    EXPECT_EQ(bound.widest, 2);
  }
}

TEST(MakespanBound, ReportsItsAssumptions) {
  study::StudyView view = with_trials(2);
  view.spans = {{TrialId{1}, 1, 0, 0, 2}, {TrialId{2}, 1, 1, 0, 1}};
  EXPECT_EQ(
      bounds_text(makespan_bound(view)),
      "all work spread evenly 1.5 s, the longest trial 2 s. Measured: the share of its worker that each of 2 "
      "trials had. Assumed: all could begin at once, and a trial needs alone the time that it needed as one of several "
      "lanes.");
  view.spans[0].width = 2;
  EXPECT_NE(bounds_text(makespan_bound(view)).find("was not measured"), std::string::npos);
}

TEST(WorkerActivities, ShowLastActivityOfLog) {
  study::StudyView view = with_trials(4);
  view.spans = {{TrialId{4}, 1, 1, 0, 1},
                {TrialId{1}, 1, 0, 0, 1, 2},
                {TrialId{2}, 1, 0, 1, 2, 2},
                {TrialId{3}, 1, 2, 2, 4, 1, 2}};
  view.trials[3].outcome = study::Outcome{};

  const auto now = worker_activities(view);

  ASSERT_EQ(now.size(), 3U);
  EXPECT_EQ(activity_text(now[0]), "worker 0, 100 % busy: helps worker 2 with #3");
  EXPECT_EQ(activity_text(now[1]), "worker 1, 25 % busy: nothing under way");
  EXPECT_EQ(activity_text(now[2]), "worker 2, 50 % busy: #3 by 2 workers");
  view.spans.pop_back();
  EXPECT_EQ(activity_text(worker_activities(view)[0]), "worker 0, 100 % busy: #1 #2 in turns");
  view.spans.push_back({TrialId{2}, 2, 1, 2, 3});
  EXPECT_EQ(activity_text(worker_activities(view)[0]), "worker 0, 67 % busy: #1") << "trial 2 has moved";
  EXPECT_EQ(activity_text(worker_activities(view)[1]), "worker 1, 67 % busy: #2");
  view.end_reason = "budget";
  EXPECT_TRUE(worker_activities(view).empty());
}

TEST(WorkerActivities, NameHostOfWorker) {
  study::StudyView view = with_trials(2);
  view.spans = {{TrialId{1}, 1, 0, 0, 1}, {TrialId{2}, 1, 1, 0, 1}};
  view.spans[0].host = view.spans[1].host = 2;
  view.workers.hosts = {{"node1", 0}, {"node2", 1}};
  view.workers.present = {{0, 7, "node1"}};

  const auto now = worker_activities(view);

  ASSERT_EQ(now.size(), 2U);
  EXPECT_EQ(activity_text(now[0]), "worker 0 on node1, 100 % busy: #1") << "it was started again there";
  EXPECT_EQ(activity_text(now[1]), "worker 1 on node2, 100 % busy: #2");
}

}  // namespace
}  // namespace lanista::report
