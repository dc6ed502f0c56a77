#include "bench/tuning_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include "bench/baselines/baseline_policies.h"
#include "lanista/plan/elastic/first_come.h"

namespace lanista::bench {
namespace {

plan::Cluster workers(std::int64_t count) {
  plan::Cluster cluster;
  cluster.workers = count;
  return cluster;
}

TEST(TuningJobs, HavePublishedEvaluationCounts) {
  // R = 81 and eta = 3 give 81, 34, 15, 8, 5 configurations rounded up, and 81, 27, 9, 6, 5 rounded down.
  const auto policy = plan::first_come();
  for (const auto& [name, evaluations] : {std::pair{"hyperband", 206}, {"bohb", 187}, {"syncbohb", 187}}) {
    const auto job = make_tuning_job(name, 1, {});
    const auto simulation = plan::simulate(workers(8), *job, *policy);
    ASSERT_TRUE(simulation) << simulation.error().text();
    EXPECT_EQ(job->trials(), evaluations) << name;
    EXPECT_EQ(simulation->ends.size(), static_cast<std::size_t>(evaluations));
  }
}

TEST(TuningJobs, SyncbohbRunsOneRungAtATime) {
  const auto policy = plan::first_come();
  const auto job = make_tuning_job("syncbohb", 2, {});

  auto simulation = plan::simulate(workers(8), *job, *policy);

  ASSERT_TRUE(simulation) << simulation.error().text();
  std::ranges::sort(simulation->ends, {}, &plan::TrialEnd::id);
  const std::vector<std::int64_t> sizes{81, 27, 9, 3, 1, 27, 9, 3, 1, 9, 3, 1, 6, 2, 5};
  std::size_t at = 0;
  double before = 0;
  for (const std::int64_t size : sizes) {
    double last = 0;
    for (std::int64_t i = 0; i < size; ++i, ++at) {
      EXPECT_GE(simulation->ends[at].began, before) << at;
      last = std::max(last, simulation->ends[at].ended);
    }
    before = last;
  }
  EXPECT_EQ(at, simulation->ends.size());
}

TEST(TuningJobs, AshaPromotesAtLeastThirdWithSixteenRunning) {
  const auto policy = plan::first_come();
  const auto job = make_tuning_job("asha", 3, {});

  const auto simulation = plan::simulate(workers(64), *job, *policy);

  ASSERT_TRUE(simulation) << simulation.error().text();
  // More than a third may continue, because the best trials change with each result.
  EXPECT_GE(job->trials(), 81 + 27 + 9);
  for (const plan::TrialEnd& end : simulation->ends) {
    const auto open = std::ranges::count_if(simulation->ends, [&](const plan::TrialEnd& other) {
      return other.began <= end.began && end.began < other.ended;
    });
    EXPECT_LE(open, 16);
  }
}

TEST(TuningJobs, EndNotBeforeTheirBounds) {
  const auto policy = plan::longest_trial_first();
  for (const std::string& name : tuning_jobs()) {
    for (const std::int64_t count : {1, 16}) {
      const auto job = make_tuning_job(name, 4, {});
      const auto simulation = plan::simulate(workers(count), *job, *policy);
      ASSERT_TRUE(simulation) << simulation.error().text();
      const auto limit = job->limit(workers(count));
      EXPECT_GE(simulation->makespan, limit.elastic * (1 - 1e-9)) << name;
      EXPECT_LE(limit.elastic, limit.dual * (1 + 1e-9)) << name;
      EXPECT_GT(limit.elastic, 0) << name;
    }
  }
}

TEST(TuningJobs, AsynchronousBoundIsAllWorkOrTheLongestChain) {
  const std::vector<plan::Prediction> parts(4, plan::prediction_of(3, 0, 1));
  const std::vector<double> chains{2, 7, 3};
  plan::Cluster cluster = workers(1);
  cluster.shares = cluster.widest = 1;

  EXPECT_DOUBLE_EQ(asynchronous_bound(parts, chains, cluster), 12);
  cluster.workers = 4;
  EXPECT_DOUBLE_EQ(asynchronous_bound(parts, chains, cluster), 7);
}

}  // namespace
}  // namespace lanista::bench
