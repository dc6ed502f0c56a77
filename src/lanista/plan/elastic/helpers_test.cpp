// Tests of the assignment of helpers. Its value is measured by a simulator that shares no code with the module.
#include "lanista/plan/elastic/helpers.h"
#include "lanista/plan/elastic/first_come.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "bench/baselines/baseline_policies.h"
#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

using Assigned = std::map<std::size_t, TrialId>;

/// Returns a trial of this many seconds alone. One tenth of them cannot be shared.
PlacedTrial placed_trial(std::uint32_t id, std::int32_t leader, double seconds, std::int64_t most = 4) {
  return {TrialId{id}, leader, true, most, prediction_of(seconds, 0.1, 1, 0, 0.001)};
}

HelperInput helper_input_of(std::size_t workers, std::vector<PlacedTrial> trials, Assigned helping = {}) {
  return {.is_alive = std::vector<bool>(workers, true), .trials = std::move(trials), .helping = std::move(helping)};
}

Assigned ours(const HelperInput& helper_input) { return assign_helpers(helper_input, *policy_of_helpers()).helping; }

TEST(Helpers, GoToTheTrialThatWouldEndLast) {
  EXPECT_EQ(ours(helper_input_of(4, {placed_trial(1, 0, 10), placed_trial(2, 1, 100)})),
            (Assigned{{2, TrialId{2}}, {3, TrialId{2}}}));
  EXPECT_EQ(ours(helper_input_of(4, {placed_trial(1, 0, 100), placed_trial(2, 1, 10)})),
            (Assigned{{2, TrialId{1}}, {3, TrialId{1}}}));
}

TEST(Helpers, AreWithinTheLimitOfATrial) {
  EXPECT_EQ(ours(helper_input_of(4, {placed_trial(1, 0, 10), placed_trial(2, 1, 100, 2)})),
            (Assigned{{2, TrialId{2}}, {3, TrialId{1}}}));
  EXPECT_EQ(ours(helper_input_of(4, {placed_trial(1, 0, 10, 1), placed_trial(2, 1, 100, 1)})), Assigned{});
}

// Two trials of a leader alternate, so a helper of one is idle while the other trains. Each trial gets one helper
// before one gets two.
TEST(Helpers, GoToTheTrialOfALeaderThatGainsMost) {
  EXPECT_EQ(ours(helper_input_of(3, {placed_trial(1, 0, 50), placed_trial(2, 0, 50)})),
            (Assigned{{1, TrialId{1}}, {2, TrialId{2}}}));
  PlacedTrial shares_badly = placed_trial(1, 0, 50);
  shares_badly.expected = prediction_of(50, 0.9);
  EXPECT_EQ(ours(helper_input_of(3, {shares_badly, placed_trial(2, 0, 40)})),
            (Assigned{{1, TrialId{2}}, {2, TrialId{2}}}));
}

TEST(Helpers, StayWithAWaitingTrialUnlessOthersHaveWork) {
  PlacedTrial waits = placed_trial(2, 1, 10);
  waits.has_work = false;
  const Assigned present{{2, TrialId{2}}};
  EXPECT_EQ(ours(helper_input_of(3, {waits}, present)), present);
  EXPECT_EQ(ours(helper_input_of(3, {placed_trial(1, 0, 10, 2), waits}, present)),
            (Assigned{{1, TrialId{1}}, {2, TrialId{2}}}));
  EXPECT_EQ(ours(helper_input_of(3, {placed_trial(1, 0, 10, 3), waits}, present)),
            (Assigned{{1, TrialId{1}}, {2, TrialId{1}}}));
  EXPECT_EQ(ours(helper_input_of(3, {}, present)), Assigned{});  // The trial has ended.
}

TEST(Helpers, LeaveATrialWithALowerLimit) {
  EXPECT_EQ(ours(helper_input_of(3, {placed_trial(1, 0, 10, 2)}, {{1, TrialId{1}}, {2, TrialId{1}}})),
            (Assigned{{1, TrialId{1}}}));
  EXPECT_EQ(ours(helper_input_of(3, {placed_trial(1, 0, 10, 1)}, {{1, TrialId{1}}, {2, TrialId{1}}})), Assigned{});
}

// A free worker helps only if steps get shorter by the least gain of the policy.
TEST(Helpers, AreNotAssignedIfStepsGetNoShorter) {
  PlacedTrial slow = placed_trial(1, 0, 10);
  slow.expected.transfer = 10;
  EXPECT_EQ(ours(helper_input_of(2, {slow})), Assigned{});
  PlacedTrial hardly = placed_trial(1, 0, 10);
  hardly.expected = prediction_of(10, 0.99);
  EXPECT_EQ(ours(helper_input_of(2, {hardly})), Assigned{});
}

// The policy decides whether a helper goes to another leader.
TEST(Helpers, AreInThePlacementOfTheirLeader) {
  PlacedTrial waits = placed_trial(3, 1, 10);
  waits.has_work = false;
  const SchedulerState seen =
      scheduler_state_of(helper_input_of(5, {placed_trial(1, 3, 10), placed_trial(2, 0, 20, 2), waits},
                                         {{1, TrialId{1}}, {2, TrialId{2}}, {4, TrialId{2}}}));

  ASSERT_EQ(seen.tasks.size(), 2U);
  EXPECT_EQ(seen.tasks[0].placement, (Placement{{0, 2}, 1}));  // A helper above the limit of its trial is free.
  EXPECT_EQ(seen.tasks[1].placement, (Placement{{1, 3}, 1}));
}

// If a policy moves a trial, its leader stays and the other workers become helpers.
TEST(Helpers, AreWorkersWithoutWorkUnderAnyPolicy) {
  class MovingPolicy : public Policy {
   public:
    std::string_view name() const override { return "elsewhere"; }
    Decision decide(const SchedulerState& state) const override {
      Decision out;
      for (std::size_t i = 0; i < state.tasks.size(); ++i) {
        out.placements.push_back({{static_cast<std::int32_t>(i), static_cast<std::int32_t>(i) + 2}, 1});
      }
      return out;
    }
  };
  // Worker 3 leads trial 1. The policy gives it to leader 1 of trial 2 as a second worker.
  const HelperInput helper_input = helper_input_of(4, {placed_trial(1, 3, 10), placed_trial(2, 1, 10)});
  EXPECT_EQ(assign_helpers(helper_input, MovingPolicy()).helping, (Assigned{{0, TrialId{2}}}));
}

// Random states under several policies.

struct RandomInput {
  HelperInput helper_input;
  std::vector<double> serial;  ///< Serial part of each trial.
};

/// Returns random trials: one for each leader, and more.
RandomInput random_input(Rng& rng, bool all_work, std::int64_t more = 2) {
  RandomInput out;
  const auto workers = static_cast<std::size_t>(rng.between(2, 9));
  const std::int64_t busy = rng.between(1, static_cast<std::int64_t>(workers));
  out.helper_input.is_alive.assign(workers, true);
  const std::int64_t trials = rng.between(busy, busy + more);
  for (std::int64_t i = 0; i < trials; ++i) {
    const double seconds = std::exp(rng.normal()) * 20, serial = rng.uniform(0.02, 0.4);
    PlacedTrial trial = placed_trial(static_cast<std::uint32_t>(i) + 1, static_cast<std::int32_t>(i % busy), seconds,
                                     rng.between(1, 6));
    trial.expected = prediction_of(seconds, serial, 1, 0, 0.001);
    trial.has_work = all_work || rng.below(4) > 0;
    out.serial.push_back(serial);
    out.helper_input.trials.push_back(trial);
  }
  if (all_work) return out;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    if (rng.below(8) == 0) out.helper_input.is_alive[worker] = false;
    if (rng.below(2) == 0)
      out.helper_input.helping[worker] = TrialId{static_cast<std::uint32_t>(rng.between(1, trials + 1))};
  }
  return out;
}

TEST(Helpers, NeverOversubscribeAWorker) {
  Rng rng(3);
  const auto policies = {policy_of_helpers, uniform_redistribution, fluid_dynamic, first_come};
  std::int64_t sent = 0;
  for (int round = 0; round < 400; ++round) {
    const HelperInput helper_input = random_input(rng, false).helper_input;
    std::set<std::int32_t> busy;
    for (const PlacedTrial& trial : helper_input.trials) {
      if (trial.has_work) busy.insert(trial.leader);
    }
    for (const auto& make : policies) {
      const auto policy = make();
      const SchedulerState seen = scheduler_state_of(helper_input);
      EXPECT_TRUE(check_decision(seen, policy->decide(seen)).ok()) << policy->name();
      const Helpers helpers = assign_helpers(helper_input, *policy);
      EXPECT_EQ(helpers, assign_helpers(helper_input, *policy));
      std::map<TrialId, std::int64_t> of_trial;
      for (const auto& [worker, trial] : helpers.helping) {
        EXPECT_TRUE(helper_input.is_alive.at(worker));
        EXPECT_FALSE(busy.contains(static_cast<std::int32_t>(worker)));
        ++of_trial[trial];
        ++sent;
      }
      for (const PlacedTrial& trial : helper_input.trials) {
        const auto its = of_trial.find(trial.trial);
        if (its == of_trial.end()) continue;
        EXPECT_LT(its->second, trial.most);
        EXPECT_TRUE(helper_input.is_alive[static_cast<std::size_t>(trial.leader)] || !trial.has_work);
        of_trial.erase(its);
      }
      EXPECT_TRUE(of_trial.empty());  // A trial that has ended has no helpers.
    }
  }
  EXPECT_GT(sent, 1000);
}

// A simulator. A leader alternates between its trials, so that all of them make equal progress. During its turn, a
// trial of width w is w / (1 + s (w - 1)) times as fast.

using Rule = std::function<Assigned(const HelperInput&)>;

double makespan(const RandomInput& sampled, const Rule& rule) {
  HelperInput helper_input = sampled.helper_input;
  std::vector<double> left;  // Remaining seconds alone.
  std::vector<double> serial = sampled.serial;
  for (const PlacedTrial& trial : helper_input.trials) left.push_back(trial.expected.work + trial.expected.overhead);
  double now = 0;
  while (!helper_input.trials.empty()) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      helper_input.trials[i].expected = prediction_of(left[i], serial[i], 1, 0, 0.001);
    }
    helper_input.now = now;
    helper_input.helping = rule(helper_input);
    std::map<std::int32_t, double> turn;  // Seconds in which each trial of a leader does one second of its work.
    std::map<TrialId, double> workers;
    for (const PlacedTrial& trial : helper_input.trials) workers[trial.trial] = 1;
    for (const auto& [worker, trial] : helper_input.helping) workers[trial] += 1;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double w = workers[helper_input.trials[i].trial];
      turn[helper_input.trials[i].leader] += (1 + serial[i] * (w - 1)) / w;
    }
    std::vector<double> rates;
    double next = 1e300;
    for (std::size_t i = 0; i < left.size(); ++i) {
      rates.push_back(1 / turn[helper_input.trials[i].leader]);
      next = std::min(next, left[i] / rates[i]);
    }
    now += next;
    for (std::size_t i = left.size(); i-- > 0;) {
      left[i] -= next * rates[i];
      if (left[i] > 1e-9) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      left.erase(left.begin() + at);
      serial.erase(serial.begin() + at);
      helper_input.trials.erase(helper_input.trials.begin() + at);
    }
  }
  return now;
}

/// The former rule: helpers stay, and new ones go to the leader with the fewest.
Assigned evenly(const HelperInput& helper_input) {
  Assigned out;
  std::map<TrialId, std::int64_t> helpers;
  std::set<std::int32_t> busy;
  for (const PlacedTrial& trial : helper_input.trials) busy.insert(trial.leader);
  const auto trial_of = [&](TrialId id) { return std::ranges::find(helper_input.trials, id, &PlacedTrial::trial); };
  for (const auto& [worker, trial] : helper_input.helping) {
    const auto its = trial_of(trial);
    if (its == helper_input.trials.end() || helpers[trial] + 1 >= its->most) continue;
    out[worker] = trial;
    ++helpers[trial];
  }
  for (std::size_t worker = 0; worker < helper_input.is_alive.size(); ++worker) {
    if (busy.contains(static_cast<std::int32_t>(worker)) || out.contains(worker)) continue;
    const PlacedTrial* best = nullptr;
    for (const PlacedTrial& trial : helper_input.trials) {
      if (helpers[trial.trial] + 1 >= trial.most) continue;
      if (best == nullptr || helpers[trial.trial] < helpers[best->trial]) best = &trial;
    }
    if (best == nullptr) continue;
    out[worker] = best->trial;
    ++helpers[best->trial];
  }
  return out;
}

/// Returns the makespans relative to those of the even rule, for random cases.
std::vector<double> ratios(std::uint64_t seed, std::int64_t more) {
  const auto policy = policy_of_helpers();
  Rng rng(seed);
  std::vector<double> out;
  for (int round = 0; round < 400; ++round) {
    const RandomInput sampled = random_input(rng, true, more);
    PlanTarget target;
    const Rule by_policy = [&](const HelperInput& helper_input) {
      HelperInput asked = helper_input;
      asked.target = target;
      const Helpers helpers = assign_helpers(asked, *policy);
      target = helpers.target;
      return helpers.helping;
    };
    out.push_back(makespan(sampled, by_policy) / makespan(sampled, evenly));
  }
  return out;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::int64_t below(const std::vector<double>& values, double limit) {
  return std::ranges::count_if(values, [&](double value) { return value < limit; });
}

// Many random cases have no choice: there is no worker without work, or no trial may have helpers. So the mean is near
// 1.
TEST(Helpers, EndUnequalTrialsSoonerThanTheEvenRule) {
  const auto seen = ratios(12, 0);

  EXPECT_LE(std::ranges::max(seen), 1.02);
  EXPECT_LE(mean(seen), 0.985);
  EXPECT_GE(below(seen, 0.98), 100);
}

// No Prediction fits several trials of a leader exactly, so a helper is sometimes late.
TEST(Helpers, UsuallyEndTrialsOfOneLeaderSooner) {
  const auto seen = ratios(11, 2);

  EXPECT_LE(std::ssize(seen) - below(seen, 1.02), 4);
  EXPECT_LE(std::ranges::max(seen), 1.1);
  EXPECT_LE(mean(seen), 0.985);
  EXPECT_GE(below(seen, 0.98), 100);
}

}  // namespace
}  // namespace lanista::plan
