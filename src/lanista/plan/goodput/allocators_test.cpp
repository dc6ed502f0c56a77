#include <cmath>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/plan/goodput/baseline_allocators.h"
#include "lanista/plan/goodput/bounds.h"
#include "lanista/plan/goodput/genetic.h"
#include "lanista/plan/goodput/knapsack.h"
#include "lanista/plan/goodput/knapsack_allocator.h"
#include "lanista/plan/goodput/packing.h"
#include "support/plan/goodput/test_jobs.h"

namespace lanista::goodput {
namespace {

TEST(Packing, SeparatesDistributedJobsAndKeepsPlacements) {
  Rng rng(5);
  const Nodes nodes{8, 4};
  std::vector<Allocation> current(12);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int32_t> counts;
    std::int32_t left = nodes.total();
    for (std::size_t j = 0; j < current.size(); ++j) {
      std::int32_t k = std::vector<std::int32_t>{0, 1, 2, 4, 8, 12}[rng.below(6)];
      // Half of the counts stay, so that some jobs can keep their devices.
      if (rng.bernoulli(0.5)) k = devices_of(current[j]);
      counts.push_back(k <= left ? k : 0);
      left -= counts.back();
    }
    const auto packed = pack(counts, current, nodes);
    std::vector<std::int32_t> used(8, 0), spanning(8, 0);
    bool moved = false, grew = false;
    for (std::size_t j = 0; j < packed.size(); ++j) {
      EXPECT_EQ(devices_of(packed[j]), counts[j]);
      EXPECT_LE(packed[j].size(), static_cast<std::size_t>((counts[j] + 3) / 4));
      for (const NodeShare& share : packed[j]) {
        used[static_cast<std::size_t>(share.node)] += share.devices;
        spanning[static_cast<std::size_t>(share.node)] += packed[j].size() > 1;
      }
      moved = moved || (counts[j] == devices_of(current[j]) && packed[j] != current[j]);
      grew = grew || counts[j] > devices_of(current[j]);
    }
    for (std::size_t n = 0; n < 8; ++n) {
      EXPECT_LE(used[n], 4);
      EXPECT_LE(spanning[n], 1);
    }
    EXPECT_TRUE(!moved || grew) << "no job moves if no job grows";
    current = packed;
  }
}

TEST(Packing, MovesOnlyJobsOfTheEmptiestNode) {
  Rng rng(6);
  const Nodes nodes{8, 4};
  for (int round = 0; round < 50; ++round) {
    // Jobs of one device use about half of the nodes. Then a job needs a whole node.
    std::vector<Allocation> current;
    const auto least = static_cast<std::int32_t>(rng.below(8));
    for (std::int32_t n = 0; n < nodes.count; ++n) {
      const std::int64_t here = n == least ? 1 : rng.between(2, 3);
      for (std::int64_t i = 0; i < here; ++i) current.push_back({{n, 1}});
    }
    std::vector<std::int32_t> counts(current.size(), 1);
    const auto comes = static_cast<std::ptrdiff_t>(rng.below(counts.size() + 1));
    counts.insert(counts.begin() + comes, 4);
    current.insert(current.begin() + comes, Allocation{});
    const auto packed = pack(counts, current, nodes);
    for (std::size_t j = 0; j < packed.size(); ++j) {
      if (counts[j] == 4) {
        EXPECT_EQ(packed[j], (Allocation{{least, 4}}));
      } else if (current[j].front().node == least) {
        EXPECT_NE(packed[j].front().node, least);
      } else {
        EXPECT_EQ(packed[j], current[j]) << "a job on another node stays";
      }
    }
  }
}

TEST(Genetic, IsNearTheExactSolutionAndKeepsItsLimits) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    RandomJobs jobs(6, Rng(seed), {4, 4});
    const auto search = genetic({.population = 40, .generations = 40, .seed = seed});
    std::vector<Allocation> decided;
    for (int i = 0; i < 2; ++i) decided = search->allocate(jobs.state());
    ASSERT_TRUE(check_allocations(jobs.state(), decided));
    std::vector<int> spanning(4, 0);
    for (std::size_t j = 0; j < decided.size(); ++j) {
      EXPECT_LE(devices_of(decided[j]), jobs.views[j].most);
      if (!is_distributed(decided[j])) continue;
      for (const NodeShare& share : decided[j]) EXPECT_LE(++spanning[static_cast<std::size_t>(share.node)], 1);
    }
    const double exact = jobs.cost(counts_of(knapsack_allocator()->allocate(jobs.state())));
    EXPECT_LE(jobs.cost(counts_of(decided)), 1.1 * exact);
    EXPECT_EQ(genetic({.population = 40, .generations = 40, .seed = seed})->allocate(jobs.state()),
              genetic({.population = 40, .generations = 40, .seed = seed})->allocate(jobs.state()));
  }
}

TEST(Genetic, KeepsDistributedJobsOnSeparateNodes) {
  // Two jobs are much faster on six devices than on four. On three nodes they would share one node.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    RandomJobs jobs(2, Rng(1), {3, 4});
    jobs.tables.clear();
    for (JobView& view : jobs.views) {
      JobModel model;
      model.throughput = {0.1, 0.05, 0.001, 0.0001, 0.001, 0.0001, 1};
      model.gradients = {1, 1000};
      model.limits = {32, 4096, 8, 128};
      jobs.tables.emplace_back(model);
      view.goodput = &jobs.tables.back();
      view.most = 6;
      view.age = 1e6;
    }
    const GoodputTable& table = jobs.tables.back();
    ASSERT_GT(table.at(2, 6), 1.2 * table.at(1, 4));
    const auto search = genetic({.population = 30, .generations = 30, .seed = seed});
    // The second time the current allocations share a node.
    for (int i = 0; i < 2; ++i) {
      const auto decided = search->allocate(jobs.state());
      ASSERT_TRUE(check_allocations(jobs.state(), decided));
      std::vector<int> spanning(3, 0);
      for (const Allocation& allocation : decided) {
        EXPECT_FALSE(allocation.empty());
        if (!is_distributed(allocation)) continue;
        for (const NodeShare& share : allocation) EXPECT_LE(++spanning[static_cast<std::size_t>(share.node)], 1);
      }
      jobs.current = {{{0, 4}, {1, 2}}, {{1, 2}, {2, 4}}};
    }
  }
}

TEST(Baselines, GiveRequestedReplicasInOrder) {
  RandomJobs jobs(5, Rng(1), {2, 4});
  for (auto& view : jobs.views) view.wanted = 3;
  EXPECT_EQ(counts_of(first_come()->allocate(jobs.state())), (std::vector<std::int32_t>{3, 3, 0, 0, 0}));
  jobs.views[3].wanted = 2;
  EXPECT_EQ(counts_of(tiresias()->allocate(jobs.state())), (std::vector<std::int32_t>{3, 3, 0, 2, 0}))
      << "a later job that fits goes first";
}

TEST(Baselines, TiresiasDemotesJobsAfterSixteenDeviceHours) {
  RandomJobs jobs(2, Rng(1), {1, 4});
  for (auto& view : jobs.views) view.wanted = 4;
  const auto policy = tiresias();
  AllocatorState state = jobs.state();
  state.now = 0;
  jobs.current = policy->allocate(state);
  ASSERT_EQ(counts_of(jobs.current), (std::vector<std::int32_t>{4, 0}));
  state.current = jobs.current;
  state.now = 4 * 3600 - 1;
  EXPECT_EQ(counts_of(policy->allocate(state)), (std::vector<std::int32_t>{4, 0}));
  state.now = 4 * 3600;
  EXPECT_EQ(counts_of(policy->allocate(state)), (std::vector<std::int32_t>{0, 4}));
}

TEST(Allocations, AreRefusedWhenTheyExceedTheNodes) {
  const RandomJobs jobs(2, Rng(1), {2, 4});
  const auto code = [&](std::vector<Allocation> all) {
    const auto checked = check_allocations(jobs.state(), all);
    return checked ? Code::kCancelled : checked.error().code;
  };
  EXPECT_EQ(code({{{0, 4}}, {{1, 4}}}), Code::kCancelled);
  EXPECT_EQ(code({{{0, 3}}, {{0, 2}}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{{2, 1}}, {}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{{0, 1}, {0, 1}}, {}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{}}), Code::kInvalidArgument);
}

TEST(Bounds, OfShortestFirstMatchAManualCalculation) {
  // Jobs of 8, 4 and 12 device-seconds arrive at 0, 1 and 100 s on 4 devices. They run in [0,1] and [2,3], in [1,2],
  // and in [100,103].
  const std::vector<double> arrivals{0, 1, 100}, work{8, 3.9, 12};
  EXPECT_NEAR(shortest_first_mean(arrivals, work, 4), (2.975 + 0.975 + 3) / 3, 1e-12);
}

}  // namespace
}  // namespace lanista::goodput
