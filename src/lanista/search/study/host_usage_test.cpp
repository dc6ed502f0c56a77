#include "lanista/search/study/host_usage.h"

#include <gtest/gtest.h>

#include <map>

#include "lanista/base/rng.h"
#include "lanista/search/study/worker_usage.h"

namespace lanista::study {
namespace {

Span span_of(std::uint32_t trial, std::int64_t worker, double began, double ended, std::size_t host) {
  Span span{TrialId{trial}, 1, worker, began, ended};
  span.host = host;
  return span;
}

TEST(HostUsage, SplitsWorkByHostAndCountsWorkers) {
  StudyView view;
  view.trials.resize(4);
  EXPECT_TRUE(host_usage(view).empty());
  view.spans = {{TrialId{1}, 1, 0, 0, 1}};
  EXPECT_TRUE(host_usage(view).empty()) << "local work belongs to no host";
  view.workers.hosts = {{"node2", 1}, {"node1", 0}, {"node3", 2}};
  view.workers.present = {{0, 7, "node1"}, {1, 8, ""}, {2, 9, "node1"}};
  // Worker 1 was on node2 at first, and then on node1; worker 0 began here.
  view.spans.push_back(span_of(2, 1, 0, 4, 1));
  view.spans.push_back(span_of(2, 1, 4, 5, 2));
  view.spans.push_back(span_of(3, 0, 1, 3, 2));

  const auto uses = host_usage(view);

  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(host_text(uses[0], false), "node1: 2 workers, 38 % of the work");
  EXPECT_EQ(host_text(uses[1], false), "node2: 0 workers, 50 % of the work, 1 worker lost");
  EXPECT_EQ(host_text(uses[2], true), "node3: 0 % of the work, 2 workers lost");
  EXPECT_DOUBLE_EQ(uses[0].share, 3.0 / 8);
  EXPECT_DOUBLE_EQ(uses[1].share, 4.0 / 8);
}

// Trials that share steps share an interval. The use of a host is the busy time of its workers, for random timelines.
TEST(HostUsage, AddUpToTheWorkOfAllWorkers) {
  const Rng root(5);
  for (std::uint64_t number = 0; number < 100; ++number) {
    Rng rng = root.split(number);
    StudyView view;
    view.workers.hosts = {{"b", 0}, {"a", 0}, {"c", 0}};
    std::map<std::int64_t, double> free_at;
    std::map<std::string, double> seconds;
    double all = 0;
    for (std::uint32_t trial = 1; trial <= 40;) {
      const auto worker = rng.between(0, 3);
      const std::size_t host = rng.below(4), lanes = 1 + rng.below(3);
      const double slice = 0.25 + rng.uniform(), began = free_at[worker];
      for (std::size_t k = 0; k < lanes; ++k) {
        const double at = began + static_cast<double>(k) * slice;
        view.spans.push_back(span_of(trial++, worker, at, at + slice, host));
        view.spans.back().lanes = static_cast<std::int64_t>(lanes);
      }
      const double took = static_cast<double>(lanes) * slice;
      free_at[worker] = began + took + rng.uniform();
      if (host > 0) seconds[view.workers.hosts[host - 1].name] += took;
      all += took;
    }
    view.trials.resize(50);
    const auto uses = host_usage(view);
    ASSERT_EQ(uses.size(), 3U);
    for (const HostUsage& use : uses) EXPECT_NEAR(use.share, seconds[use.name] / all, 1e-9) << number << use.name;
    EXPECT_EQ(uses.front().name, "a");
  }
}

TEST(TrialMoves, DescribeSourceTargetAndCost) {
  WorkerHistory::Move move{.trial = TrialId{3}, .from = 1, .from_host = "node2", .seconds = 1.25};
  EXPECT_EQ(move_text(move), "from worker 1 on node2 to none so far: at most 1.25 s of its work lost");
  move.to = 3;
  move.to_host = "node4";
  EXPECT_EQ(move_text(move), "from worker 1 on node2 to worker 3 on node4: at most 1.25 s of its work lost");
  move.to_host = "";
  move.seconds = 1234.5;
  EXPECT_EQ(move_text(move), "from worker 1 on node2 to worker 3: at most 1234 s of its work lost");
  move.to = 1;
  EXPECT_EQ(move_text(move), "from worker 1 on node2 to worker 1: at most 1234 s of its work lost");
  move.to_host = "node2";
  EXPECT_EQ(move_text(move),
            "from worker 1 on node2 to the next process of that worker there: at most 1234 s of its work lost");
}

TEST(TrialMoves, CountByTrialAndSum) {
  StudyView view;
  EXPECT_EQ(moves_text(move_counts(view)), "");
  const auto lost = [&](std::uint32_t trial, double seconds) {
    view.workers.moves.push_back({.trial = TrialId{trial}, .from = 0, .from_host = "a", .seconds = seconds});
  };
  lost(2, 0.5);
  EXPECT_EQ(moves_text(move_counts(view)), "1 trial moved, at most 0.5 s of work lost");
  lost(5, 1);
  lost(2, 0.75);
  EXPECT_EQ(moves_text(move_counts(view)), "2 trials moved 3 times, at most 2.25 s of work lost");
  EXPECT_EQ(moves_of(view, TrialId{2}).size(), 2U);
  EXPECT_EQ(moves_of(view, TrialId{2})[1].seconds, 0.75);
  EXPECT_TRUE(moves_of(view, TrialId{1}).empty());
}

TEST(WorkerText, IncludesHost) {
  WorkerHistory workers;
  workers.present = {{0, 7, "node1"}, {4, 8, ""}};
  EXPECT_EQ(worker_text(0, host_of(workers, 0)), "worker 0 on node1");
  EXPECT_EQ(worker_text(4, host_of(workers, 4)), "worker 4");
  EXPECT_EQ(worker_text(1, host_of(workers, 1)), "worker 1");
}

}  // namespace
}  // namespace lanista::study
