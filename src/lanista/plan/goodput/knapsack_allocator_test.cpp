#include "lanista/plan/goodput/knapsack_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/plan/goodput/exact_knapsack.h"
#include "support/plan/goodput/test_jobs.h"

namespace lanista::goodput {
namespace {

TEST(KnapsackAllocator, IsTheBestOfAllPackedCounts) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomJobs jobs(4, Rng(seed), {2, 4});
    double best = 1e300;
    const std::int32_t options[] = {0, 1, 2, 4, 8};
    for (const auto a : options) {
      for (const auto b : options) {
        for (const auto c : options) {
          for (const auto d : options) {
            if (a + b + c + d <= 8) best = std::min(best, jobs.cost({a, b, c, d}));
          }
        }
      }
    }
    const auto decided = knapsack_allocator()->allocate(jobs.state());
    ASSERT_TRUE(check_allocations(jobs.state(), decided));
    EXPECT_NEAR(jobs.cost(counts_of(decided)), best, 1e-9 * best);
  }
}

TEST(KnapsackAllocator, IsTheSameWhenNewJobsShareAList) {
  // A thousand waiting jobs of two kinds, and four with a known goodput. The oracle has a list for each job.
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    RandomJobs jobs(4, Rng(seed), {4, 4});
    Rng rng(seed + 100);
    for (int i = 0; i < 1000; ++i) {
      JobView view;
      view.id = 4 + i;
      view.age = rng.uniform(0, 100);
      view.most = i % 2 == 0 ? 1 : 2;
      jobs.views.push_back(view);
    }
    jobs.current.resize(jobs.views.size());
    const double fair = 1;
    std::vector<std::vector<DeviceCount>> choices;
    for (std::size_t j = 0; j < jobs.views.size(); ++j) {
      const JobView& view = jobs.views[j];
      const double unit = j < 4 ? jobs.tables[j].at(1, 1) : fair;
      choices.push_back({{0, -1000}});
      for (std::int32_t k = 1; k <= view.most; k *= 2) {
        const double rate = j < 4 ? jobs.tables[j].packed(k, 4) : k;
        choices.back().push_back({k, -1 / (rate / unit * 4 / 16 * view.age / (view.age + 30) + 1e-3)});
      }
    }
    EXPECT_EQ(counts_of(knapsack_allocator()->allocate(jobs.state())), solve_exactly(choices, 16));
    // Above, each job differs by its age. If the age does not count, jobs are equal, and the first ones start.
    const auto decided = counts_of(knapsack_allocator({.goal = Goal::kFinish})->allocate(jobs.state()));
    std::int32_t last = 1 << 30;
    for (std::size_t j = 4; j < decided.size(); j += 2) {
      EXPECT_LE(decided[j], last) << "in the order of arrival";
      last = decided[j];
    }
  }
}

TEST(KnapsackAllocator, DoesNotMoveAJobForLessThanItCosts) {
  RandomJobs jobs(3, Rng(9), {2, 4});
  const auto policy = knapsack_allocator({.goal = Goal::kFinish});
  jobs.current = policy->allocate(jobs.state());
  EXPECT_EQ(policy->allocate(jobs.state()), jobs.current);
}

/// Returns the remaining samples of a job by the jobs of its kind: by the finished ones, or by the furthest one.
double guessed_left(const JobView& job, std::span<const JobView> under_way, const std::vector<double>& finished) {
  double most = 0, sum = 0;
  for (const JobView& other : under_way) most = other.kind == job.kind ? std::max(most, other.goodput_service) : most;
  for (const double size : finished) sum += size;
  const double one = job.goodput->packed(1, 4),
               mean = sum / static_cast<double>(std::max<std::size_t>(finished.size(), 1));
  if (job.goodput_service < 1.05 * mean) return std::max(mean - job.goodput_service, 60 * one);
  return std::max(2 * most - job.goodput_service, 3600 * one);
}

TEST(KnapsackAllocator, EstimatesRemainingWorkByJobsOfTheKind) {
  constexpr KnapsackOptions kOptions{
      .goal = Goal::kFinish, .guess = SizeGuess::kKind, .new_job_device_seconds = 3600, .power = 0.5, .horizon = 240};
  int by_finished = 0, by_furthest = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    RandomJobs jobs(6, rng.split(1), {2, 4});
    for (JobView& view : jobs.views) {
      view.kind = rng.between(0, 1);
      view.goodput_service = std::exp(rng.uniform(5, 16));
    }
    const auto policy = knapsack_allocator(kOptions);
    policy->allocate(jobs.state());
    std::vector<std::vector<double>> finished(2);
    while (jobs.views.size() > 3) {
      const auto ends = static_cast<std::ptrdiff_t>(rng.below(jobs.views.size()));
      const JobView& view = jobs.views[static_cast<std::size_t>(ends)];
      if (view.kind == 0) finished[0].push_back(view.goodput_service);
      if (view.kind == 1) finished[1].push_back(view.goodput_service);
      jobs.views.erase(jobs.views.begin() + ends);
    }
    for (JobView& view : jobs.views) {  // Some are about to end.
      const auto& sizes = finished[static_cast<std::size_t>(view.kind)];
      if (sizes.empty() || rng.bernoulli(0.5)) continue;
      const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
      view.goodput_service = sum / static_cast<double>(sizes.size()) * rng.uniform(1, 1.04);
    }
    jobs.current = {{{0, 1}}, {}, {{1, 4}}};
    const auto worth = [&](const std::vector<std::int32_t>& counts) {
      double sum = 0;
      for (std::size_t j = 0; j < counts.size(); ++j) {
        if (counts[j] == 0) continue;
        const JobView& view = jobs.views[j];
        const double left = guessed_left(view, jobs.views, finished[static_cast<std::size_t>(view.kind)]);
        double rate = view.goodput->packed(counts[j], 4);
        if (counts[j] != devices_of(jobs.current[j])) rate *= std::max(0.0, 1 - 30 / std::min(240.0, left / rate + 30));
        sum += std::sqrt(rate / left);
      }
      return sum;
    };
    double best = 0;
    for (const std::int32_t a : {0, 1, 2, 4, 8}) {
      for (const std::int32_t b : {0, 1, 2, 4, 8}) {
        for (const std::int32_t c : {0, 1, 2, 4, 8}) best = a + b + c <= 8 ? std::max(best, worth({a, b, c})) : best;
      }
    }
    EXPECT_NEAR(worth(counts_of(policy->allocate(jobs.state()))), best, 1e-9 * best) << seed;
    for (const JobView& view : jobs.views)
      ++(finished[static_cast<std::size_t>(view.kind)].empty() ? by_furthest : by_finished);
  }
  EXPECT_GT(by_finished, 20);
  EXPECT_GT(by_furthest, 20);
}

}  // namespace
}  // namespace lanista::goodput
