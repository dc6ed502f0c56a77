#include "bench/group_end_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "lanista/base/rng.h"
#include "support/plan/goodput/test_jobs.h"

namespace lanista::goodput {
namespace {

TEST(GroupEndAllocation, EndsAsEarlyAsAnyPackedCountsAllow) {
  Rng rng(8);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomJobs jobs(3, Rng(seed), {2, 4});
    // Remaining work for which a restart matters, or long work.
    for (JobView& view : jobs.views) view.left = rng.uniform(1e3, seed % 2 == 0 ? 1e5 : 1e6);
    const auto options = {1, 2, 4, 8};
    const auto policy = group_end_allocator();
    // The second time it starts from the devices of the first time, with other remaining work.
    for (int time = 0; time < 2; ++time) {
      const auto end_of = [&](const std::vector<std::int32_t>& counts) {
        double end = 0;
        for (std::size_t j = 0; j < 3; ++j) {
          const double wait = counts[j] == devices_of(jobs.current[j]) ? 0 : 30;
          end = std::max(end, *jobs.views[j].left / jobs.tables[j].packed(counts[j], 4) + wait);
        }
        return end;
      };
      double best = 1e300;
      for (const auto a : options) {
        for (const auto b : options) {
          for (const auto c : options) {
            if (a + b + c <= 8) best = std::min(best, end_of({a, b, c}));
          }
        }
      }
      const auto decided = policy->allocate(jobs.state());
      ASSERT_TRUE(check_allocations(jobs.state(), decided));
      EXPECT_DOUBLE_EQ(end_of(counts_of(decided)), best);
      jobs.current = decided;
      EXPECT_EQ(policy->allocate(jobs.state()), decided) << "no job moves without a gain";
      for (JobView& view : jobs.views) *view.left *= rng.uniform(0.3, 0.9);
    }
  }
}

TEST(GroupEndAllocation, KeepsDevicesOfJobsThatEndInTime) {
  RandomJobs jobs(2, Rng(1), {2, 4});
  JobModel model;
  // Eight devices are slower than four: the link between nodes costs more than they save.
  model.throughput = {0.1, 0.005, 0.4, 0.0001, 0.01, 0.0001, 1};
  model.gradients = {1, 100};
  model.limits = {32, 2048, 8, 256};
  model.rule = BatchRule::kFixed;
  model.fixed_batch = 256;
  jobs.tables.clear();
  for (JobView& view : jobs.views) {
    jobs.tables.emplace_back(model);
    view.goodput = &jobs.tables.back();
  }
  jobs.views[0].left = 1e4;
  jobs.views[1].left = 1e6;
  jobs.views[1].most = 2;
  jobs.current = {{{0, 4}}, {}};
  EXPECT_EQ(counts_of(group_end_allocator()->allocate(jobs.state())), (std::vector<std::int32_t>{4, 2}))
      << "no other job needs the devices of the short one";
  jobs.views[1].most = 8;
  jobs.views[1].left = 1e4;
  jobs.views[0].left = 1e6;
  jobs.current = {{{0, 4}, {1, 4}}, {}};
  const GoodputTable& table = jobs.tables.front();
  ASSERT_GT(table.at(1, 4), 1.3 * table.at(2, 8));
  ASSERT_LT(table.at(1, 4), 1.9 * table.at(2, 8));
  EXPECT_EQ(counts_of(group_end_allocator()->allocate(
                {1000, jobs.nodes, 30, std::span(jobs.views).first(1), std::span(jobs.current).first(1)})),
            (std::vector<std::int32_t>{4}))
      << "a slower width is not kept";
}

TEST(GroupEndAllocation, StartsTheLongestJobsWhereDevicesAreFew) {
  RandomJobs jobs(10, Rng(1), {2, 4});
  for (JobView& view : jobs.views) {
    view.goodput = nullptr;
    view.left = 1000.0 * static_cast<double>(1 + view.id);
  }
  EXPECT_EQ(counts_of(group_end_allocator()->allocate(jobs.state())),
            (std::vector<std::int32_t>{0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(GroupEndCounts, EndAsEarlyAsAnyAssignmentAllows) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    const std::int32_t total = static_cast<std::int32_t>(rng.between(3, 9));
    std::vector<std::vector<double>> seconds(static_cast<std::size_t>(rng.between(1, 3)));
    for (auto& job : seconds) {
      double at = rng.uniform(1, 10);
      for (std::int32_t k = 0; k < total; ++k, at *= rng.uniform(0.5, 1)) job.push_back(at);
    }
    double best = std::numeric_limits<double>::infinity();
    const std::function<void(std::size_t, std::int32_t, double)> all = [&](std::size_t j, std::int32_t left,
                                                                           double end) {
      if (j == seconds.size()) {
        best = std::min(best, end);
        return;
      }
      for (std::int32_t k = 1; k <= left; ++k)
        all(j + 1, left - k, std::max(end, seconds[j][static_cast<std::size_t>(k - 1)]));
    };
    all(0, total, 0);
    const auto counts = group_end_counts(seconds, total);
    ASSERT_EQ(counts.size(), seconds.size());
    double end = 0;
    std::int32_t used = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      used += counts[j];
      end = std::max(end, seconds[j][static_cast<std::size_t>(counts[j] - 1)]);
    }
    EXPECT_LE(used, total);
    EXPECT_DOUBLE_EQ(end, best);
  }
  EXPECT_TRUE(group_end_counts(std::vector<std::vector<double>>{{1.0}, {1.0}}, 1).empty());
}

}  // namespace
}  // namespace lanista::goodput
