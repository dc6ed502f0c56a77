#include "lanista/pipeline/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lanista/pipeline/baselines.h"
#include "lanista/pipeline/bounds.h"
#include "lanista/pipeline/series_parallel.h"
#include "lanista/pipeline/simulate.h"
#include "lanista/pipeline/test_support.h"

namespace lanista::pipeline {
namespace {

/// The best step of all partitions into stages without a circle, all numbers of devices and all powers of two as
/// micro-batches, by `events`. Times of the operators are a start and so much a sample; nothing is sent.
class Oracle {
 public:
  explicit Oracle(const Problem& problem) : problem_(problem), stage_(problem.model.operators.size(), 0) {}
  double run() {
    assign(0, 0);
    return best_;
  }

 private:
  void assign(std::size_t op, std::size_t used) {
    if (op == stage_.size()) return judge(used);
    for (std::size_t s = 0; s <= used && s < static_cast<std::size_t>(problem_.devices.count()); ++s) {
      stage_[op] = s;
      assign(op + 1, std::max(used, s + 1));
    }
  }

  void judge(std::size_t count) {
    std::vector<std::vector<std::uint32_t>> next(count);
    for (const auto& [u, v] : problem_.model.edges) {
      const std::size_t a = stage_[u], b = stage_[v];
      if (a != b && std::ranges::find(next[a], b) == next[a].end()) next[a].push_back(static_cast<std::uint32_t>(b));
    }
    std::vector<std::int64_t> height(count, 0);
    for (std::size_t round = 0; round <= count; ++round) {  // heights settle in so many rounds, or there is a circle
      bool changed = false;
      for (std::size_t s = 0; s < count; ++s) {
        std::int64_t most = 1;
        for (const std::uint32_t n : next[s]) most = std::max(most, height[n] + 1);
        changed = changed || most != height[s];
        height[s] = most;
      }
      if (!changed) break;
      if (round == count) return;
    }
    std::vector<std::int64_t> degree(count, 1);
    give(next, height, degree, 0, problem_.devices.count() - static_cast<std::int64_t>(count));
  }

  void give(const std::vector<std::vector<std::uint32_t>>& next, const std::vector<std::int64_t>& height,
            std::vector<std::int64_t>& degree, std::size_t s, std::int64_t left) {
    if (s == degree.size()) return time(next, height, degree);
    for (std::int64_t more = 0; more <= left; ++more) {
      degree[s] = 1 + more;
      give(next, height, degree, s + 1, left - more);
    }
    degree[s] = 1;
  }

  void time(const std::vector<std::vector<std::uint32_t>>& next, const std::vector<std::int64_t>& height,
            const std::vector<std::int64_t>& degree) {
    const std::int64_t batch = problem_.model.batch;
    for (std::int64_t b = 1; b <= batch; b *= 2) {
      std::vector<double> forward(degree.size(), 0);
      std::vector<std::int64_t> in_flight;
      bool possible = true;
      for (std::size_t s = 0; s < degree.size(); ++s) {
        possible = possible && degree[s] <= b;
        in_flight.push_back(std::min(batch, height[s] * b));
      }
      if (!possible) continue;
      for (std::size_t op = 0; op < stage_.size(); ++op) {
        const Curve& curve = problem_.model.operators[op].forward;  // linear: a start and so much a sample
        const double each = curve[1] - curve[0];
        const std::int64_t samples = (b + degree[stage_[op]] - 1) / degree[stage_[op]];
        forward[stage_[op]] += curve[0] - each + each * static_cast<double>(samples);
      }
      double slowest = 0;
      for (const double each : forward) slowest = std::max(slowest, 3 * each * static_cast<double>(batch / b));
      if (slowest >= best_) continue;
      const std::vector<std::int64_t> sizes(degree.size(), b), turns(degree.size(), 1);
      best_ = std::min(best_, events(next, sizes, forward, turns, in_flight, batch));
    }
  }

  const Problem& problem_;
  std::vector<std::size_t> stage_;
  double best_ = 1e300;
};

TEST(Planner, IsWithinTwoPercentOfTheBestOfAllPartitions) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Problem problem = random_problem(Rng(51).split(i), 7, 3, 8);
    const auto planned = make_plan(problem);
    ASSERT_TRUE(planned.ok()) << planned.error().text();
    EXPECT_TRUE(check(planned->plan, problem).ok());

    const double best = Oracle(problem).run();

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
  // One operator cannot be shared out (micro-batches of one sample): the graph's depth is 2, a chain's 3.
  const Problem problem = a_problem(3, {{0, 2}, {1, 2}}, 4, 3);

  const auto planned = make_plan(problem, {.micro_batch = 1});

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->plan.stages.size(), 3u);
  EXPECT_EQ(depth_of(planned->plan), 2u);
  EXPECT_DOUBLE_EQ(planned->seconds, (4 + 2 - 1) * 3.0);
}

TEST(Planner, KeepsToTheMemoryAndSaysWhatIsMissing) {
  Problem problem = a_problem(4, {{0, 1}, {1, 2}, {2, 3}}, 8, 4);
  for (Operator& op : problem.model.operators) op.activation_bytes = 10, op.parameter_bytes = 5;
  problem.devices = equal_devices(4, 60, {0, 1e18});
  const auto planned = make_plan(problem);
  ASSERT_TRUE(planned.ok()) << planned.error().text();
  for (const double bytes : bytes_of(planned->plan, problem.model)) EXPECT_LE(bytes, 60);

  problem.devices = equal_devices(4, 25, {0, 1e18});
  EXPECT_EQ(make_plan(problem).error().code, Code::kResourceExhausted);
}

TEST(SeriesParallel, LosesNothingWhereTheGraphIsOne) {
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

TEST(SeriesParallel, KeepsEveryDependencyOfAnyGraphAndTellsTheLoss) {
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
    std::vector<std::size_t> place(count);
    for (std::size_t p = 0; p < count; ++p) place[order[p]] = p;
    for (const auto& [a, b] : edges) EXPECT_LT(place[a], place[b]) << i;
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
  // 0 and 1 are read by 2, and 1 by 3 too: an N.
  const Problem problem = a_problem(4, {{0, 2}, {1, 2}, {1, 3}}, 8, 4);

  const Tree tree = decompose(problem.model);

  EXPECT_EQ(tree.added, 1u);
  EXPECT_DOUBLE_EQ(tree.loss, 1);
}

}  // namespace
}  // namespace lanista::pipeline
