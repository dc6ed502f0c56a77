#include "lanista/plan/elastic/simulate.h"
#include "lanista/plan/elastic/first_come.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "bench/baselines/baseline_policies.h"
#include "lanista/base/rng.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/elastic.h"
#include "support/plan/elastic/test_support.h"

namespace lanista::plan {
namespace {

std::vector<std::unique_ptr<Policy>> all_policies() {
  std::vector<std::unique_ptr<Policy>> all;
  all.push_back(first_come());
  all.push_back(longest_trial_first());
  all.push_back(fluid_static());
  all.push_back(fluid_dynamic());
  all.push_back(uniform_redistribution());
  all.push_back(elastic());
  return all;
}

/// Gives each task its listed placement, or worker 0.
class ScriptedPolicy : public Policy {
 public:
  std::function<Decision(const SchedulerState&)> script;
  std::string_view name() const override { return "scripted"; }
  Decision decide(const SchedulerState& state) const override { return script(state); }
};

Decision shared_by_all(const SchedulerState& state) {
  return {std::vector<Placement>(state.tasks.size(), Placement{{0}, state.tasks.size() > 1 ? 2 : 1}), {}};
}

TEST(Simulate, RunsATrialAtItsWidth) {
  ScriptedPolicy policy;
  policy.script = [](const SchedulerState&) { return Decision{{Placement{{0, 2}, 1}}, {}}; };
  SingleGroup source({arrival(7, prediction_of(10, 0.1))});

  const auto result = simulate(cluster_of(3), source, policy);

  ASSERT_TRUE(result) << result.error().text();
  EXPECT_DOUBLE_EQ(result->makespan, 5.5);  // 9/2 + 1.
  EXPECT_DOUBLE_EQ(result->used_seconds, 11);
  EXPECT_DOUBLE_EQ(result->available_seconds, 16.5);
}

TEST(Simulate, SlowsDownTrialsThatShareAWorker) {
  ScriptedPolicy policy;
  policy.script = shared_by_all;
  Cluster cluster = cluster_of(1);
  cluster.interference = 0.1;
  SingleGroup source({arrival(1, prediction_of(3, 0, 0.8)), arrival(2, prediction_of(6, 0, 0.7))});

  const auto result = simulate(cluster, source, policy);

  ASSERT_TRUE(result) << result.error().text();
  // Both are slower by 1.5 x 1.1 = 1.65 until the first ends at 4.95. The second has 3 of 6 left then.
  ASSERT_EQ(result->ends.size(), 2u);
  EXPECT_NEAR(result->ends[0].ended, 4.95, 1e-12);
  EXPECT_NEAR(result->makespan, 7.95, 1e-12);
}

TEST(Simulate, ChargesAChangeOfWorkersOnceATrialHasBegun) {
  ScriptedPolicy policy;
  policy.script = [](const SchedulerState& state) {
    Decision decision{std::vector<Placement>(state.tasks.size()), {}};
    if (state.tasks.size() == 2) {
      decision.placements[0] = {{0}, 1};
      decision.placements[1] = {{1}, 1};
    } else {
      decision.placements[0] = {{0, 1}, 1};
    }
    return decision;
  };
  SingleGroup source({arrival(1, prediction_of(10, 0, 1, 0, 0.5)), arrival(2, prediction_of(4, 0, 1, 0, 0.5))});

  const auto result = simulate(cluster_of(2), source, policy);

  ASSERT_TRUE(result) << result.error().text();
  EXPECT_NEAR(result->makespan, 4 + 0.5 + 3, 1e-12);
  EXPECT_EQ(result->resizes, 1);
  EXPECT_DOUBLE_EQ(result->resize_seconds, 0.5);
}

TEST(Simulate, ResumesATrialOfALostWorkerFromItsCheckpoint) {
  const auto policy = first_come();
  SingleGroup source({arrival(1, prediction_of(10, 0, 1, 0, 1))});
  SimulationOptions options;
  options.snapshot = 0.25;
  options.changes = {{6, 0, false}, {8, 0, true}};

  const auto result = simulate(cluster_of(1), source, *policy, options);

  ASSERT_TRUE(result) << result.error().text();
  // 6 of 10 are done and 5 are stored. It has no worker for two seconds, and needs one second to restart.
  EXPECT_NEAR(result->makespan, 8 + 1 + 5, 1e-9);
  EXPECT_NEAR(result->available_seconds, 12, 1e-9);
}

TEST(Simulate, ReportsATrialThatNeverStarts) {
  const auto policy = first_come();
  SingleGroup source({arrival(1, prediction_of(10, 0))});
  SimulationOptions options;
  options.changes = {{1, 0, false}};

  const auto result = simulate(cluster_of(1), source, *policy, options);

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_NE(result.error().message.find("1 trials wait"), std::string::npos) << result.error().message;
}

TEST(Simulate, RefusesATrialThatFitsNowhere) {
  const auto policy = first_come();
  SingleGroup source({arrival(4, prediction_of(1, 0, 1, 2))});

  const auto result = simulate(cluster_of(1), source, *policy);

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
}

TEST(Simulate, EndsAFailedTrialAtItsTime) {
  const auto policy = first_come();
  SingleGroup source({{1, prediction_of(10, 0), prediction_of(10, 0), 0.3}});

  const auto result = simulate(cluster_of(1), source, *policy);

  ASSERT_TRUE(result) << result.error().text();
  EXPECT_NEAR(result->makespan, 3, 1e-9);
  EXPECT_TRUE(result->ends[0].failed);
}

TEST(Simulate, RevealsTrueTimesLater) {
  ScriptedPolicy policy;
  std::vector<double> seen;
  policy.script = [&](const SchedulerState& state) {
    seen.push_back(seconds_at(state.tasks[0].expected, 1));
    return Decision{{Placement{{0}, 1}}, {}};
  };
  SingleGroup source({{1, prediction_of(5, 0), prediction_of(10, 0), {}}});
  SimulationOptions options;
  options.learn_after = 0.2;

  const auto result = simulate(cluster_of(1), source, policy, options);

  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(seen, (std::vector<double>{5, 10}));
  EXPECT_NEAR(result->makespan, 10, 1e-9);
}

/// Returns the predicted seconds of each trial by id, at every decision.
std::vector<std::map<std::int64_t, double>> seconds_seen(std::vector<Arrival> trials,
                                                         const SimulationOptions& options) {
  std::vector<std::map<std::int64_t, double>> all;
  ScriptedPolicy policy;
  policy.script = [&](const SchedulerState& state) {
    std::map<std::int64_t, double>& seen = all.emplace_back();
    Decision decision;
    const SchedulerState known = with_observed_pace(state);
    for (const Task& task : known.tasks) {
      seen[task.id] = seconds_at(task.expected, 1);
      const auto worker = static_cast<std::int32_t>(task.id);
      if (state.alive[static_cast<std::size_t>(worker)])
        decision.placements.push_back({{worker}, 1});
      else
        decision.placements.emplace_back();
    }
    return decision;
  };
  SingleGroup source(std::move(trials));
  const auto result = simulate(cluster_of(3), source, policy, options);
  EXPECT_TRUE(result) << result.error().text();
  return all;
}

TEST(WithObservedPace, PredictsTheTimeFromThePace) {
  const std::vector<Arrival> trials{{0, prediction_of(5, 0), prediction_of(12, 0), {}},
                                    {1, prediction_of(5, 0), prediction_of(4, 0), {}},
                                    {2, prediction_of(6, 0), prediction_of(6, 0), {}}};
  const auto seen = seconds_seen(trials, {});

  ASSERT_EQ(seen.size(), 3u);  // At the start, and at the ends of trials 1 and 2.
  EXPECT_EQ(seen[0], (std::map<std::int64_t, double>{{0, 5}, {1, 5}, {2, 6}}));
  EXPECT_NEAR(seen[1].at(0), 12, 1e-9);
  EXPECT_EQ(seen[1].at(2), 6);  // Its prediction keeps its bits.
  EXPECT_NEAR(seen[2].at(0), 12, 1e-9);
}

TEST(WithObservedPace, StaysTrueAfterLostWorkAndCorrections) {
  const std::vector<Arrival> trials{{0, prediction_of(5, 0), prediction_of(10, 0), {}}};
  SimulationOptions options;
  options.snapshot = 0.25;
  options.learn_after = 0.9;
  options.changes = {{4, 0, false}, {5, 0, true}, {7, 1, false}};
  const auto seen = seconds_seen(trials, options);

  ASSERT_EQ(seen.size(), 5u);  // The start, a loss at 0.4 with 0.25 stored, a join, another change, and a correction.
  EXPECT_EQ(seen[0].at(0), 5);
  for (std::size_t k = 1; k < seen.size(); ++k) EXPECT_NEAR(seen[k].at(0), 10, 1e-9) << k;
}

TEST(WithObservedPace, KeepsPredictionsWithoutAPace) {
  const std::vector<Arrival> trials{{0, prediction_of(5, 0), prediction_of(12, 0), {}},
                                    {1, prediction_of(5, 0), prediction_of(4, 0), {}}};
  SimulationOptions options;
  options.reports_pace = false;
  for (const auto& seen : seconds_seen(trials, options)) EXPECT_EQ(seen.at(0), 5);
}

TEST(WithObservedPace, KeepsOnlyTheCostOfAChangeUncertain) {
  SchedulerState state;
  state.cluster = cluster_of(1);
  state.alive = {true};
  Task task;
  task.expected = prediction_of(10, 0, 1, 0, 2);
  task.expected.error = 0.5;
  task.left = 0.5;
  task.due = 0.75;
  state.tasks = {task, task};
  state.tasks[1].left = 0.999;  // 0.1 % of the budget is too little.
  const SchedulerState known = with_observed_pace(state);

  EXPECT_EQ(seconds_at(known.tasks[0].expected, 1), 15);
  EXPECT_EQ(known.tasks[0].expected.error, 0);
  EXPECT_EQ(known.tasks[0].expected.resize, 4);
  EXPECT_EQ(seconds_at(known.tasks[1].expected, 1), 10);
  EXPECT_EQ(known.tasks[1].expected.error, 0.5);
  const SchedulerState again = with_observed_pace(known);  // A second call changes nothing.
  EXPECT_EQ(again.tasks[0].expected.steps, known.tasks[0].expected.steps);
  EXPECT_EQ(again.tasks[0].expected.resize, known.tasks[0].expected.resize);
}

TEST(CheckDecision, RefusesOversubscription) {
  SchedulerState state;
  state.cluster = cluster_of(2);
  state.alive = {true, true};
  for (std::int64_t id = 0; id < 3; ++id) {
    Task task;
    task.id = id;
    task.expected = prediction_of(1, 0, 1, 0.4);
    state.tasks.push_back(task);
  }
  const auto code = [&](std::vector<Placement> placements) {
    const auto checked = check_decision(state, {std::move(placements), {}});
    return checked ? std::string() : checked.error().message;
  };

  EXPECT_EQ(code({{{0}, 2}, {{0}, 2}, {{1}, 1}}), "");
  EXPECT_NE(code({{{0}, 2}, {{0}, 2}, {{0}, 2}}).find("more than once"), std::string::npos);
  EXPECT_NE(code({{{0, 1}, 1}, {{1}, 4}, {}}).find("more than once"), std::string::npos);
  EXPECT_NE(code({{{0}, 4}, {{0}, 4}, {{0}, 4}}).find("memory"), std::string::npos);
  EXPECT_NE(code({{{2}, 1}, {}, {}}).find("does not exist or is lost"), std::string::npos);
  EXPECT_NE(code({{{0}, 3}, {}, {}}).find("1/3"), std::string::npos);
  EXPECT_NE(code({{{0, 1}, 2}, {}, {}}).find("1/2"), std::string::npos);
  state.cluster.widest = 1;
  EXPECT_NE(code({{{0, 1}, 1}, {}, {}}).find("2 workers"), std::string::npos);
  state.alive[1] = false;
  EXPECT_NE(code({{{1}, 1}, {}, {}}).find("does not exist or is lost"), std::string::npos);
}

/// Two random groups of trials with a barrier between them. Some trials fail, and some workers are lost and join.
class TwoGroups : public TrialSource {
 public:
  TwoGroups(std::vector<Arrival> first, std::vector<Arrival> second) : groups_{std::move(first), std::move(second)} {}
  std::vector<Arrival> next(std::span<const TrialEnd>, std::size_t waiting, std::size_t running) override {
    if (waiting + running > 0 || at_ == groups_.size()) return {};
    return groups_[at_++];
  }

 private:
  std::vector<std::vector<Arrival>> groups_;
  std::size_t at_ = 0;
};

TEST(EveryPolicy, EndsEachTrialOnceWithoutOversubscription) {
  Rng rng(4);
  const auto policies = all_policies();
  for (int round = 0; round < 40; ++round) {
    const Cluster cluster = cluster_of(rng.between(1, 8), std::int64_t{1} << rng.between(0, 3), rng.between(1, 5));
    std::vector<std::vector<Arrival>> groups(2);
    std::int64_t id = 0;
    for (auto& group : groups) {
      const std::int64_t count = rng.between(1, 15);
      for (std::int64_t i = 0; i < count; ++i) {
        const double seconds = rng.uniform(0.1, 5), serial = rng.uniform(0, 0.3), resize = rng.uniform(0, 0.5);
        const Prediction actual = prediction_of(seconds, serial, rng.uniform(0.1, 1), rng.uniform(0, 0.6), resize);
        Prediction expected = actual;
        expected.steps = rng.uniform(0.5, 1.5);
        group.push_back({id++, expected, actual, rng.bernoulli(0.1) ? std::optional(rng.uniform()) : std::nullopt});
      }
    }
    SimulationOptions options;
    if (cluster.workers > 1) options.changes = {{1, 0, false}, {2, 1, false}, {2.5, 1, true}, {6, 0, true}};
    if (rng.bernoulli(0.5)) options.learn_after = 0.1;
    for (const auto& policy : policies) {
      TwoGroups source(groups[0], groups[1]);
      const auto result = simulate(cluster, source, *policy, options);  // It checks each decision.
      ASSERT_TRUE(result) << policy->name() << ": " << result.error().text();
      std::map<std::int64_t, int> ends;
      double first_group = 0;
      for (const TrialEnd& end : result->ends) {
        ++ends[end.id];
        EXPECT_LE(end.arrived, end.began);
        EXPECT_LE(end.began, end.ended);
        if (end.id < static_cast<std::int64_t>(groups[0].size())) first_group = std::max(first_group, end.ended);
      }
      EXPECT_EQ(ends.size(), groups[0].size() + groups[1].size()) << policy->name();
      for (const auto& [trial, times] : ends) EXPECT_EQ(times, 1);
      for (const TrialEnd& end : result->ends) {
        const bool is_second = end.id >= static_cast<std::int64_t>(groups[0].size());
        EXPECT_TRUE(!is_second || end.began >= first_group);
      }
      EXPECT_LE(result->used_seconds, result->available_seconds * (1 + 1e-9));
    }
  }
}

TEST(EveryPolicy, StaysAboveTheBounds) {
  Rng rng(5);
  const auto policies = all_policies();
  for (int round = 0; round < 60; ++round) {
    const Cluster cluster = cluster_of(rng.between(1, 12), std::int64_t{1} << rng.between(0, 2), rng.between(1, 4));
    std::vector<Arrival> trials;
    std::vector<Prediction> alone;
    const std::int64_t count = rng.between(1, 24);
    for (std::int64_t i = 0; i < count; ++i) {
      alone.push_back(prediction_of(rng.uniform(0.1, 5), rng.uniform(0, 0.3), rng.uniform(0.1, 1), rng.uniform(0, 1)));
      trials.push_back(arrival(i, alone.back()));
    }
    for (const auto& policy : policies) {
      SingleGroup source(trials);
      const auto result = simulate(cluster, source, *policy);
      ASSERT_TRUE(result) << policy->name() << ": " << result.error().text();
      EXPECT_GE(result->makespan, bounds_of(alone, cluster).best() * (1 - 1e-9)) << policy->name();
    }
  }
}

}  // namespace
}  // namespace lanista::plan
