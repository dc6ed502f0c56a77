#include "bench/baselines/planner_baselines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/plan/pipeline/test_support.h"

namespace lanista::pipeline {
namespace {

/// Returns a random graph with edges from smaller to larger numbers.
Problem any_graph(Rng rng, std::uint32_t operators, std::int64_t devices) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t a = 0; a < operators; ++a) {
    for (std::uint32_t b = a + 1; b < operators; ++b) {
      if (rng.bernoulli(0.3)) edges.push_back({a, b});
    }
  }
  Problem problem = a_problem(operators, edges, 8, devices);
  for (Operator& op : problem.model.operators) op = an_operator(rng.uniform(0.5, 4));
  problem.model.hash = hash_of(problem.model);
  return problem;
}

/// Returns the number of antichains, with the empty one, by checking all sets of operators.
std::size_t antichains(const Model& model) {
  const std::size_t n = model.operators.size();
  std::vector<std::uint32_t> after(n, 0);
  for (std::size_t u = n; u-- > 0;) {
    for (const auto& [a, b] : model.edges) {
      if (a == u) after[u] |= after[b] | 1u << b;
    }
  }
  std::size_t count = 0;
  for (std::uint32_t set = 0; set < 1u << n; ++set) {
    bool apart = true;
    for (std::size_t u = 0; u < n; ++u) apart = apart && ((set >> u & 1) == 0 || (after[u] & set) == 0);
    count += apart ? 1 : 0;
  }
  return count;
}

/// Returns the least time of the slowest stage over all chains, by assigning every operator to every stage.
double best_chain_by_trying(const Problem& problem, std::int64_t micro_batch) {
  const std::size_t n = problem.model.operators.size();
  const std::int64_t devices = problem.devices.count();
  double best = 1e300;
  std::vector<std::int64_t> stage(n, 0);
  for (;;) {
    const bool forwards = std::ranges::all_of(
        problem.model.edges, [&](const auto& edge) { return stage[edge.first] <= stage[edge.second]; });
    std::vector<double> work(static_cast<std::size_t>(devices), 0);
    for (std::size_t o = 0; o < n; ++o) {
      work[static_cast<std::size_t>(stage[o])] += 3 * problem.model.operators[o].forward[0];
    }
    std::ranges::sort(work, std::greater<>());
    // All stages with work get a device. The slowest stage gets each further one.
    std::vector<std::int64_t> machines(work.size(), 0);
    std::int64_t left = devices;
    for (std::size_t s = 0; s < work.size(); ++s) {
      if (work[s] > 0) machines[s] = 1, --left;
    }
    const auto time = [&](std::size_t s) {
      return machines[s] == 0 ? 0 : work[s] * static_cast<double>(micro_batch) / static_cast<double>(machines[s]);
    };
    double slowest = 0;
    for (;; --left) {
      std::size_t worst = 0;
      for (std::size_t s = 0; s < work.size(); ++s) worst = time(s) > time(worst) ? s : worst;
      slowest = time(worst);
      if (left == 0 || machines[worst] == micro_batch) break;
      ++machines[worst];
    }
    if (forwards) best = std::min(best, slowest);
    std::size_t o = 0;
    while (o < n && ++stage[o] == devices) stage[o++] = 0;
    if (o == n) return best;
  }
}

/// Returns the time of the slowest stage of a plan.
double slowest_of(const PipelinePlan& plan, const Problem& problem) {
  double slowest = 0;
  for (const Stage& stage : plan.stages) {
    double work = 0;
    for (const std::uint32_t o : stage.operators) work += 3 * problem.model.operators[o].forward[0];
    slowest =
        std::max(slowest, work * static_cast<double>(stage.micro_batch) / static_cast<double>(stage.devices.size()));
  }
  return slowest;
}

TEST(Pipedream, TriesAsManyPrefixesAsAntichains) {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Problem problem = any_graph(Rng(61).split(i), 3 + static_cast<std::uint32_t>(i % 8), 2);
    const auto row = pipedream(problem, 2), sets = piper(problem, 2);
    ASSERT_TRUE(row.ok() && sets.ok());

    EXPECT_EQ(row->num_sets, antichains(problem.model)) << i;
    EXPECT_EQ(sets->num_sets, row->num_sets) << i;  // Complements of prefixes are downsets.
  }
}

TEST(Pipedream, HasTheFastestSlowestStageOfAllChains) {
  for (std::uint64_t i = 0; i < 24; ++i) {
    const Problem problem = any_graph(Rng(62).split(i), 6, 3);
    // Devices cannot divide a micro-batch of one sample, so a stage has one device and only the cuts matter.
    const auto planned = pipedream(problem, 1);
    ASSERT_TRUE(planned.ok());

    EXPECT_NEAR(slowest_of(planned->plan, problem), best_chain_by_trying(problem, 1), 1e-9) << i;
  }
}

TEST(Pipedream, CutsAcrossBranchesIfThatIsFaster) {
  // Two branches of 3, 2 and of 1, 2. The first operators sum to 4, and so do the second ones. A chain of one branch
  // after the other gives 5 and 3.
  Problem problem = a_problem(4, {{0, 1}, {2, 3}}, 4, 2);
  problem.model.operators = {an_operator(3), an_operator(2), an_operator(1), an_operator(2)};
  problem.model.hash = hash_of(problem.model);

  const auto planned = pipedream(problem, 1);

  ASSERT_TRUE(planned.ok());
  EXPECT_DOUBLE_EQ(slowest_of(planned->plan, problem), 12);
}

TEST(Pipedream, LimitsTheSearchWhenAntichainsAreTooMany) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  // 7 branches of 4 operators have 5^7 prefixes.
  for (std::uint32_t branch = 0; branch < 7; ++branch) {
    for (std::uint32_t i = 0; i < 3; ++i) edges.push_back({branch * 4 + i, branch * 4 + i + 1});
  }
  const Problem problem = a_problem(28, edges, 8, 4);

  const auto planned = pipedream(problem, 1);

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->num_sets, 29u);
  EXPECT_EQ(piper(problem, 1).error().code, Code::kResourceExhausted);
}

TEST(Baselines, UseTheBetterOfChainAndGraph) {
  const Problem problem = a_problem(3, {{0, 2}, {1, 2}}, 4, 3);

  for (const auto& planned : {pipedream(problem, 1), piper(problem, 1)}) {
    ASSERT_TRUE(planned.ok());
    EXPECT_DOUBLE_EQ(planned->chain_seconds, (4 + 3 - 1) * 3.0);
    EXPECT_DOUBLE_EQ(planned->seconds, (4 + 2 - 1) * 3.0);
  }
}

TEST(Baselines, PlanOnTheChainAndRunOnTheGraph) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Problem problem = any_graph(Rng(63).split(i), 7, 3);
    const Problem chain = as_chain_problem(problem);
    EXPECT_EQ(chain.model.edges.size(), 6u);
    for (const auto planner : {pipedream, piper}) {
      const auto planned = plan_on_chain(problem, planner);
      const auto of_chain = planner(chain, 0);
      ASSERT_TRUE(planned.ok() && of_chain.ok());

      EXPECT_TRUE(check(planned->plan, problem).ok());
      EXPECT_TRUE(check(planned->chain, problem).ok());
      // There are no transfers, so the sequence needs the time of the chain, and the graph needs at most that.
      EXPECT_NEAR(planned->chain_seconds, of_chain->seconds, 1e-9) << i;
      EXPECT_LE(planned->seconds, planned->chain_seconds) << i;
      EXPECT_EQ(depth_of(planned->chain), planned->chain.stages.size());
    }
  }
}

}  // namespace
}  // namespace lanista::pipeline
