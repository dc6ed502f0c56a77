#include "lanista/plan/pipeline/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/plan/pipeline/bounds.h"
#include "support/plan/pipeline/test_support.h"

namespace lanista::pipeline {
namespace {

struct Case {
  Problem problem;
  PipelinePlan plan;
  std::vector<std::vector<std::uint32_t>> next;
  std::vector<std::int64_t> sizes, turns;
  std::vector<double> forward;
};

/// Returns a random DAG of 2 to 7 stages. `kind` is 0 for equal micro-batches, 1 for growing ones along edges, 2 for
/// any.
Case a_case(Rng rng, int kind) {
  Case one;
  const auto count = static_cast<std::size_t>(rng.between(2, 7));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = a + 1; b < count; ++b) {
      if (rng.bernoulli(b == a + 1 ? 0.7 : 0.25)) edges.push_back({a, b});
    }
  }
  one.problem = a_problem(count, edges, 48 * 4, static_cast<std::int64_t>(count));
  std::vector<std::int64_t> sizes;
  std::int64_t size = 1;
  for (std::size_t s = 0; s < count; ++s) {
    if (kind == 1 && size < 4 && rng.bernoulli(0.4)) size *= 2;
    sizes.push_back(kind == 0 ? 2 : kind == 1 ? size : std::int64_t{1} << rng.between(0, 2));
    one.problem.model.operators[s] = an_operator(rng.uniform(0.5, 2));
  }
  one.plan = one_each(one.problem, sizes);
  for (const Stage& stage : one.plan.stages) {
    one.next.push_back(stage.successors);
    one.sizes.push_back(stage.micro_batch);
    one.turns.push_back(stage.k);
    one.forward.push_back(one.problem.model.operators[stage.operators[0]].forward[0] *
                          static_cast<double>(stage.micro_batch));
  }
  return one;
}

double run_events(const Case& one, const PipelinePlan& plan) {
  std::vector<std::int64_t> in_flight;
  for (const Stage& stage : plan.stages) in_flight.push_back(stage.in_flight);
  return event_simulation_seconds(one.next, one.sizes, one.forward, one.turns, in_flight, plan.batch);
}

TEST(InFlight, SufficesInADiscreteEventRun) {
  // All stages have the same time a sample, so only idle time matters.
  for (std::uint64_t i = 0; i < 60; ++i) {
    for (const int kind : {0, 1, 2}) {
      Case one = a_case(Rng(41).split(i), kind);
      for (std::size_t s = 0; s < one.forward.size(); ++s) one.forward[s] = static_cast<double>(one.sizes[s]);
      const double planned = run_events(one, one.plan);
      const double unlimited = run_events(one, with_whole_batch_in_flight(one.plan));
      ASSERT_LT(planned, 1e300) << i << " " << kind;
      EXPECT_LE(planned, unlimited * (1 + 1e-9)) << i << " " << kind;
    }
  }
}

TEST(Simulate, AgreesWithADiscreteEventRun) {
  for (std::uint64_t i = 0; i < 80; ++i) {
    const Case one = a_case(Rng(42).split(i), static_cast<int>(i % 3));
    const auto simulation = simulate(kfkb(one.plan, one.problem), one.plan, one.problem);
    const double expected = run_events(one, one.plan);

    ASSERT_TRUE(simulation.ok()) << simulation.error().text();
    EXPECT_NEAR(simulation->seconds, expected, 1e-9 * expected) << i;
    EXPECT_NEAR(kfkb_seconds(one.plan, Timing(one.plan, one.problem)), expected, 1e-9 * expected) << i;
    EXPECT_GE(simulation->seconds * (1 + 1e-9), bounds_of(one.plan, one.problem).best()) << i;
  }
}

TEST(Simulate, MatchesTheFormulaForABalancedChain) {
  const Problem chain = a_problem(4, {{0, 1}, {1, 2}, {2, 3}}, 16, 4);
  const PipelinePlan plan = one_each(chain, {2});

  const auto simulation = simulate(kfkb(plan, chain), plan, chain);

  EXPECT_DOUBLE_EQ(simulation->seconds, (8 + 4 - 1) * 6.0);  // (m + D - 1)(f + g).
  EXPECT_EQ(simulation->live_samples, (std::vector<std::int64_t>{8, 6, 4, 2}));
}

TEST(Simulate, IsFasterForARepeatedPass) {
  Problem one = a_problem(1, {}, 8, 1);
  one.model.operators[0].warm_cache_factor = 0.5;
  PipelinePlan plan = one_each(one, {2});

  // Forward passes of 2 s and backward passes of 4 s alternate, and are all of the model, so the cache is cold. In a
  // row, the first of four passes is cold. The others are 2 or 4 of all 6 seconds away.
  EXPECT_DOUBLE_EQ(simulate(kfkb(plan, one), plan, one)->seconds, 4 * 6.0);
  plan = with_whole_batch_in_flight(plan);
  EXPECT_DOUBLE_EQ(simulate(gpipe(plan), plan, one)->seconds,
                   6 + 3 * (2 * (0.5 + 0.5 * 2 / 6) + 4 * (0.5 + 0.5 * 4 / 6)));
}

// Each of two equal operators has its own rank, so half of the model runs between two equal passes.
TEST(Simulate, ScalesWithCacheWarmth) {
  Problem two = a_problem(2, {{0, 1}}, 8, 2);
  for (Operator& op : two.model.operators) op.warm_cache_factor = 0.5;
  const PipelinePlan plan = one_each(two, {2});
  const auto simulation = simulate(kfkb(plan, two), plan, two);

  const double forward = simulation->spans[0].end - simulation->spans[0].begin;
  double last_forward = 0, last_backward = 0;
  for (const Span& span : simulation->spans) {
    if (span.rank != 1) continue;  // Forward and backward passes alternate.
    if (span.action.kind == ActionKind::kForward) last_forward = span.end - span.begin;
    if (span.action.kind == ActionKind::kBackward) last_backward = span.end - span.begin;
  }
  EXPECT_DOUBLE_EQ(last_forward, forward * 0.75);
  EXPECT_DOUBLE_EQ(last_backward, 2 * forward * 0.75);
}

TEST(Simulate, IsNeverBelowItsBoundsForAnyCacheWarmth) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    Case one = a_case(Rng(43).split(i), static_cast<int>(i % 3));
    Rng rng(i);
    for (Operator& op : one.problem.model.operators) op.warm_cache_factor = rng.uniform(0.3, 1);
    if (i % 2 == 0) one.plan = with_whole_batch_in_flight(one.plan);
    const Schedule schedule = i % 2 == 0 ? gpipe(one.plan) : kfkb(one.plan, one.problem);
    const auto simulation = simulate(schedule, one.plan, one.problem);
    ASSERT_TRUE(simulation.ok()) << simulation.error().text();
    EXPECT_GE(simulation->seconds * (1 + 1e-9), bounds_of(one.plan, one.problem).best()) << i;
    if (i % 2 == 1) {
      EXPECT_NEAR(kfkb_seconds(one.plan, Timing(one.plan, one.problem)), simulation->seconds,
                  1e-9 * simulation->seconds)
          << i;
    }
  }
}

TEST(Simulate, RunsTransfersOneAfterAnother) {
  Problem chain = a_problem(2, {{0, 1}}, 2, 2);
  for (Operator& op : chain.model.operators) op.output_bytes = 10;
  chain.devices = equal_devices(2, 1e18, {1, 2});
  const PipelinePlan plan = one_each(chain, {1});

  const auto simulation = simulate(kfkb(plan, chain), plan, chain);

  // Stage 0: F0 0..1, sent until 7; F1 1..2, sent until 13. Stage 1: F0 7..8, B0 8..10, sent until 16; F1 13..14,
  // B1 14..16, sent until 22.
  EXPECT_DOUBLE_EQ(simulation->seconds, 24);
  EXPECT_EQ(simulation->sent_bytes, std::vector<double>{40});
}

TEST(Schedules, EndForRandomPlansAsProved) {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Case one = a_case(Rng(43).split(i), 0);
    PipelinePlan wide = one.plan;
    const Schedule split = split_backward(wide, one.problem);
    const PipelinePlan whole = with_whole_batch_in_flight(one.plan);
    const auto plain = simulate(kfkb(one.plan, one.problem), one.plan, one.problem);
    for (const auto& [schedule, plan] :
         {std::pair{kfkb(one.plan, one.problem), one.plan}, std::pair{gpipe(whole), whole}, std::pair{split, wide}}) {
      EXPECT_TRUE(prove(schedule, plan).ok());
      const auto proof = prove(lowered(schedule, plan, one.problem.model), plan);
      EXPECT_TRUE(proof.ok()) << proof.error().text();
      const auto simulation = simulate(schedule, plan, one.problem);
      ASSERT_TRUE(simulation.ok());
      EXPECT_GE(simulation->seconds * (1 + 1e-9), bounds_of(plan, one.problem).best());
      for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        EXPECT_LE(simulation->live_samples[s], plan.stages[s].in_flight);
      }
    }
    EXPECT_LE(simulate(split, wide, one.problem)->seconds, plain->seconds * (1 + 1e-12));
  }
}

TEST(Schedules, SplitBackwardFillsIdleTimeOfAChain) {
  const Problem chain = a_problem(4, {{0, 1}, {1, 2}, {2, 3}}, 16, 4);
  PipelinePlan plan = one_each(chain, {2});
  const double before = simulate(kfkb(plan, chain), plan, chain)->seconds;

  const double after = simulate(split_backward(plan, chain), plan, chain)->seconds;

  EXPECT_LT(after, 0.9 * before);
}

TEST(Schedules, SplitBackwardHoldsNothingForAColocatedStage) {
  // Two branches of two stages. Their join has no weights and is co-located with the last stage.
  Problem problem = a_problem(5, {{0, 1}, {1, 4}, {2, 3}, {3, 4}}, 16, 4);
  problem.model.operators[4] = an_operator(0.001);
  problem.model.operators[4].weight_grad.assign(7, 0);
  problem.model.hash = hash_of(problem.model);
  PipelinePlan plan = one_each(problem, {2});
  plan.stages[4].devices = plan.stages[3].devices;
  plan.stages[3].in_flight = plan.stages[1].in_flight = 6;  // More than needed.

  const auto simulation = simulate(split_backward(plan, problem), plan, problem);

  ASSERT_TRUE(simulation.ok());
  EXPECT_LT(simulation->seconds, 48 + 2.1);  // All work, and the first forward pass, for which the second stages wait.
}

TEST(Proof, FindsTheActionThatNeverStarts) {
  const Problem chain = a_problem(2, {{0, 1}}, 4, 2);
  const PipelinePlan plan = one_each(chain, {1});
  Schedule schedule = kfkb(plan, chain);
  // F1 and B0 of stage 0: the schedule still ends.
  std::swap(schedule.ranks[0].actions[1], schedule.ranks[0].actions[2]);
  EXPECT_TRUE(prove(schedule, plan).ok());

  schedule = kfkb(plan, chain);
  std::swap(schedule.ranks[1].actions[0], schedule.ranks[1].actions[3]);  // B1 before F0.
  EXPECT_FALSE(prove(schedule, plan).ok());
  EXPECT_FALSE(simulate(schedule, plan, chain).ok() && prove(schedule, plan).ok());

  schedule = lowered(kfkb(plan, chain), plan, chain.model);
  auto& actions = schedule.ranks[1].actions;
  actions.erase(std::ranges::find(actions, ActionKind::kReceive, &Action::kind));
  EXPECT_FALSE(prove(schedule, plan).ok());
}

TEST(Gantt, ShowsTheActionsOfEachRank) {
  const Problem chain = a_problem(2, {{0, 1}}, 1, 2);
  const PipelinePlan plan = one_each(chain, {1});
  const Schedule schedule = kfkb(plan, chain);

  EXPECT_EQ(gantt(*simulate(schedule, plan, chain), schedule, plan, 6),
            "  0      |F...BB|  50 %\n"
            "  1      |.FBB..|  50 %\n");
}

}  // namespace
}  // namespace lanista::pipeline
