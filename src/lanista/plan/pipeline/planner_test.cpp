#include "lanista/plan/pipeline/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "bench/baselines/brute_force_oracle.h"
#include "bench/baselines/planner_baselines.h"
#include "lanista/plan/pipeline/bounds.h"
#include "lanista/plan/pipeline/series_parallel.h"
#include "lanista/plan/pipeline/simulate.h"
#include "support/plan/pipeline/test_support.h"

namespace lanista::pipeline {
namespace {

TEST(Planner, IsWithinTwoPercentOfTheBestOfAllPartitions) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Problem problem = random_problem(Rng(51).split(i), 7, 3, 8);
    const auto planned = make_plan(problem);
    ASSERT_TRUE(planned.ok()) << planned.error().text();
    EXPECT_TRUE(check(planned->plan, problem).ok());

    const double best = exact_seconds(problem);

    EXPECT_LE(planned->seconds, best * 1.02) << i;
    EXPECT_GE(planned->seconds, best * (1 - 1e-9)) << i;
    EXPECT_GE(best * (1 + 1e-9), bounds_of(problem).best()) << i;
  }
}

TEST(Planner, IsNeverSlowerThanTheBaselines) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Problem problem = random_problem(Rng(52).split(i), 16, 4, 16);
    const auto ours = make_plan(problem);
    const auto row = pipedream(problem), sets = piper(problem);
    ASSERT_TRUE(ours.ok() && row.ok() && sets.ok());

    EXPECT_LE(ours->seconds, row->seconds * (1 + 1e-9)) << i;
    EXPECT_LE(ours->seconds, sets->seconds * (1 + 1e-9)) << i;
  }
}

TEST(Planner, GivesTwoBranchesStagesOfTheirOwn) {
  // Devices cannot divide micro-batches of one sample. The graph has depth 2, and a chain has depth 3.
  const Problem problem = a_problem(3, {{0, 2}, {1, 2}}, 4, 3);

  const auto planned = make_plan(problem, {.micro_batch = 1});

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->plan.stages.size(), 3u);
  EXPECT_EQ(depth_of(planned->plan), 2u);
  EXPECT_DOUBLE_EQ(planned->seconds, (4 + 2 - 1) * 3.0);
}

/// Returns two branches of two operators of 1 s, and a short join.
Problem joined_branches(std::int64_t devices) {
  Problem problem = a_problem(5, {{0, 1}, {1, 4}, {2, 3}, {3, 4}}, 16, devices);
  problem.model.operators[4] = an_operator(0.001);
  problem.model.operators[4].weight_grad.assign(problem.model.operators[4].forward.size(), 0);
  problem.model.hash = hash_of(problem.model);
  return problem;
}

TEST(Planner, ColocatesAJoinWithOneOfItsBranches) {
  const Problem problem = joined_branches(2);
  PlanOptions options;
  options.micro_batch = 1;

  const auto allows_colocation = make_plan(problem, options);
  options.allows_colocation = false;
  const auto alone = make_plan(problem, options);

  ASSERT_TRUE(allows_colocation.ok() && alone.ok());
  EXPECT_TRUE(check(allows_colocation->plan, problem).ok());
  EXPECT_EQ(allows_colocation->plan.stages.size(), 3u);
  EXPECT_NEAR(allows_colocation->seconds, 16 * 6, 0.1);  // No rank waits.
  EXPECT_GT(alone->seconds, (16 + 1) * 6 - 2.1);         // One branch waits for the first pass of the other.
  const auto simulation = simulate(allows_colocation->schedule, allows_colocation->plan, problem);
  ASSERT_TRUE(simulation.ok());
  EXPECT_DOUBLE_EQ(simulation->seconds, allows_colocation->seconds);
}

TEST(Planner, ChoosesThePlanThatIsBestWhenSplit) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Problem problem = random_problem(Rng(55).split(i), 14, 4, 16);
    PlanOptions options;
    const auto plain = make_plan(problem, options);
    options.split = true;
    const auto split = make_plan(problem, options);
    ASSERT_TRUE(plain.ok() && split.ok());

    EXPECT_LE(split->seconds, plain->seconds * (1 + 1e-12)) << i;
    EXPECT_GE(split->seconds * (1 + 1e-9), bounds_of(split->plan, problem).best()) << i;
    EXPECT_TRUE(prove(split->schedule, split->plan).ok());
    EXPECT_DOUBLE_EQ(simulate(split->schedule, split->plan, problem)->seconds, split->seconds) << i;
  }
}

TEST(Planner, UsesAllDevicesForTheWholeBatch) {
  // A pass needs 10 s, and 1 s for each sample. With two stages, small micro-batches repeat the 10 s, and large ones
  // let the second stage wait.
  Problem problem = a_problem(2, {{0, 1}}, 15, 5);
  for (Operator& op : problem.model.operators) {
    for (std::size_t i = 0; i < op.forward.size(); ++i) {
      op.forward[i] = op.input_grad[i] = op.weight_grad[i] = 10 + static_cast<double>(std::int64_t{1} << i);
    }
  }
  PlanOptions options;
  options.micro_batch = 15;

  const auto planned = make_plan(problem, options);

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->plan.stages.size(), 1u);
  EXPECT_DOUBLE_EQ(planned->seconds, 2 * 3 * (10 + 3));
}

TEST(Planner, StaysWithinMemoryAndReportsTheNeed) {
  Problem problem = a_problem(4, {{0, 1}, {1, 2}, {2, 3}}, 8, 4);
  for (Operator& op : problem.model.operators) op.activation_bytes = 10, op.parameter_bytes = 5;
  problem.devices = equal_devices(4, 60, {0, 1e18});
  const auto planned = make_plan(problem);
  ASSERT_TRUE(planned.ok()) << planned.error().text();
  for (const double bytes : bytes_of(planned->plan, problem.model)) EXPECT_LE(bytes, 60);

  problem.devices = equal_devices(4, 25, {0, 1e18});
  EXPECT_EQ(make_plan(problem).error().code, Code::kResourceExhausted);
}

TEST(SeriesParallel, LosesNothingForSeriesParallelGraphs) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    const Problem problem = random_problem(Rng(53).split(i), 80, 4, 8);
    const Tree tree = decompose(problem.model);

    EXPECT_EQ(tree.added, 0u) << i;
    EXPECT_NEAR(tree.loss, 1, 1e-12) << i;
    auto all = operators_below(tree, tree.root);
    std::ranges::sort(all);
    std::vector<std::uint32_t> expected(problem.model.operators.size());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(all, expected);
  }
}

TEST(SeriesParallel, KeepsEveryDependencyAndReportsTheLoss) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    Rng rng = Rng(54).split(i);
    const auto count = static_cast<std::uint32_t>(rng.between(2, 24));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t a = 0; a < count; ++a) {
      for (std::uint32_t b = a + 1; b < count; ++b) {
        if (rng.bernoulli(0.15)) edges.push_back({a, b});
      }
    }
    const Problem problem = a_problem(count, edges, 8, 4);
    const Tree tree = decompose(problem.model);

    const auto order = operators_below(tree, tree.root);
    ASSERT_EQ(order.size(), count);
    std::vector<std::size_t> rank(count);
    for (std::size_t p = 0; p < count; ++p) rank[order[p]] = p;
    for (const auto& [a, b] : edges) EXPECT_LT(rank[a], rank[b]) << i;
    EXPECT_GE(tree.loss, 1 - 1e-12);
    for (const Tree::Node& node : tree.nodes) {
      if (node.shape != Tree::Shape::kParallel) continue;
      std::vector<std::size_t> branch(count, SIZE_MAX);
      for (std::size_t b = 0; b < node.parts.size(); ++b) {
        for (const std::uint32_t op : operators_below(tree, node.parts[b])) branch[op] = b;
      }
      for (const auto& [a, b] : edges) {
        const bool both = branch[a] != SIZE_MAX && branch[b] != SIZE_MAX;
        EXPECT_TRUE(!both || branch[a] == branch[b]) << i;
      }
    }
  }
}

TEST(SeriesParallel, PutsTheSmallestOtherRegionIntoStrata) {
  // Operator 2 reads 0 and 1, and operator 3 reads 1. The graph has the shape of an N.
  const Problem problem = a_problem(4, {{0, 2}, {1, 2}, {1, 3}}, 8, 4);

  const Tree tree = decompose(problem.model);

  EXPECT_EQ(tree.added, 1u);
  EXPECT_DOUBLE_EQ(tree.loss, 1);
}

// The start of a pass costs as much as ten samples, and memory holds four samples. So one micro-batch of four is in
// flight instead of two.
TEST(Planner, LimitsLargeMicroBatchesInsteadOfSmallOnes) {
  Problem problem = joined_branches(2);
  problem.model.batch = 8;
  for (Operator& op : problem.model.operators) {
    const double each = op.forward[0] < 0.01 ? 0.001 : 1;
    for (auto* times : {&op.forward, &op.input_grad, &op.weight_grad}) {
      for (std::size_t i = 0; i < times->size(); ++i) (*times)[i] = each * (10 + static_cast<double>(1 << i));
    }
    op.activation_bytes = each;
    op.parameter_bytes = 0.01;  // Their sum over devices is slow.
  }
  problem.model.hash = hash_of(problem.model);
  problem.devices = equal_devices(2, 8.5, {0, 1e-4});

  const auto planned = make_plan(problem);

  ASSERT_TRUE(planned.ok());
  EXPECT_TRUE(check(planned->plan, problem).ok());
  EXPECT_EQ(planned->plan.stages[0].micro_batch, 4);
  PipelinePlan by_rule = planned->plan;
  set_in_flight(by_rule);
  EXPECT_FALSE(fits(by_rule, problem).ok());
  EXPECT_TRUE(prove(lowered(planned->schedule, planned->plan, problem.model), planned->plan).ok());
}

}  // namespace
}  // namespace lanista::pipeline
