// Remote workers in the log of a study: their hosts, and trials that moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/engine/core/study_state.h"

namespace lanista::engine {
namespace {

WorkerReport started(std::int64_t worker, const std::string& host) {
  return {worker, 100 + worker, true, "", {}, 0, host};
}

WorkerReport stopped(std::int64_t worker, const std::string& host, const std::map<TrialId, double>& costs) {
  WorkerReport out{worker, 100 + worker, false, "was killed by signal 9 (Killed)", {}, 0, host, costs};
  for (const auto& [trial, seconds] : costs) {
    out.trials.push_back(trial);
    out.seconds = std::max(out.seconds, seconds);
  }
  return out;
}

study::Span span_of(std::uint32_t trial, std::int64_t worker) { return {TrialId{trial}, 1, worker, 0, 1}; }

TEST(WorkerHistory, RecordHostsOfWorkersAndSpans) {
  StudyState state;
  state.add_worker_report(started(1, "node2"));
  state.add_span(span_of(1, 1));
  state.add_worker_report(started(0, ""));
  state.add_span(span_of(2, 0));
  state.add_worker_report(stopped(1, "node2", {{TrialId{1}, 0.5}}));
  state.add_worker_report(started(1, "node3"));
  state.add_span(span_of(1, 1));
  state.add_worker_report(stopped(7, "node4", {}));  // it never came

  const study::WorkerHistory& fates = state.view.workers;
  ASSERT_EQ(fates.present.size(), 2U);
  EXPECT_EQ(fates.present[0].host, "");
  EXPECT_EQ(fates.present[1].host, "node3");
  ASSERT_EQ(fates.hosts.size(), 3U);
  EXPECT_EQ(fates.hosts[0].name + fates.hosts[1].name + fates.hosts[2].name, "node2node3node4");
  EXPECT_EQ(fates.hosts[0].lost, 1);
  EXPECT_EQ(fates.hosts[1].lost, 0);
  EXPECT_EQ(fates.hosts[2].lost, 1);
  EXPECT_EQ(fates.lost, 2);
  EXPECT_EQ(fates.last->host, "node4");
  std::vector<std::size_t> hosts;
  for (const study::Span& span : state.view.spans) hosts.push_back(span.host);
  EXPECT_EQ(hosts, (std::vector<std::size_t>{1, 0, 2}));
}

TEST(WorkerHistory, AreSeparatePerAttempt) {
  StudyState state;
  state.add_worker_report(started(0, "node2"));
  state.add_worker_report(stopped(0, "node2", {{TrialId{1}, 2.0}}));
  state.add_worker_report(started(1, "node3"));
  state.begin_attempt(5);  // the engine was killed, and continues with threads
  state.add_span(span_of(1, 1));

  EXPECT_EQ(state.view.spans[0].host, 0U);
  ASSERT_EQ(state.view.workers.moves.size(), 1U);
  EXPECT_EQ(state.view.workers.moves[0].to, 1);
  EXPECT_EQ(state.view.workers.moves[0].to_host, "");
}

TEST(WorkerHistory, HaveNoHostsForLocalStudies) {
  StudyState state;
  state.add_worker_report(started(0, ""));
  state.add_worker_report(stopped(0, "", {{TrialId{1}, 2.0}}));
  state.add_span(span_of(1, 1));
  EXPECT_TRUE(state.view.workers.hosts.empty());
  EXPECT_TRUE(state.view.workers.moves.empty());
  EXPECT_EQ(state.view.workers.last->host, "");
  EXPECT_EQ(state.view.spans[0].host, 0U);
}

/// An event, for a computation over all events.
struct WorkerEventCase {
  enum What { kStarted, kStopped, kWorked } kind = kStarted;
  std::int64_t worker = 0;
  std::string host = {};
  std::map<TrialId, double> costs = {};
  TrialId trial = {};
};

// From each loss on: the next worker that reported the trial, or lost it, has it from there.
TEST(WorkerHistory, MatchBruteForceOnRandomHistories) {
  const Rng root(11);
  std::size_t moves = 0, open = 0, twice = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    SCOPED_TRACE(number);
    Rng rng = root.split(number);
    std::vector<WorkerEventCase> all;
    std::map<std::int64_t, std::string> there;
    StudyState state;
    for (int k = 0; k < 60; ++k) {
      WorkerEventCase next;
      next.worker = rng.between(0, 3);
      const auto now = there.find(next.worker);
      if (now == there.end()) {
        next.host = rng.below(4) == 0 ? "" : "h" + std::to_string(rng.below(3));
        there[next.worker] = next.host;
        state.add_worker_report(started(next.worker, next.host));
      } else if (rng.below(3) == 0) {
        next.kind = WorkerEventCase::kStopped;
        next.host = now->second;
        for (std::uint32_t trial = 1; trial <= 4; ++trial) {
          if (rng.below(2) == 0) next.costs[TrialId{trial}] = rng.uniform();
        }
        there.erase(now);
        state.add_worker_report(stopped(next.worker, next.host, next.costs));
      } else {
        next.kind = WorkerEventCase::kWorked;
        next.host = now->second;
        next.trial = TrialId{1 + static_cast<std::uint32_t>(rng.below(4))};
        state.add_span(span_of(next.trial.value, next.worker));
      }
      all.push_back(next);
    }
    std::size_t k = 0;
    for (auto lost = all.begin(); lost != all.end(); ++lost) {
      if (lost->kind != WorkerEventCase::kStopped || lost->host.empty()) continue;
      for (const auto& [trial, seconds] : lost->costs) {
        const auto next_event = std::find_if(lost + 1, all.end(), [&](const WorkerEventCase& later) {
          return later.kind == WorkerEventCase::kWorked
                     ? later.trial == trial
                     : later.kind == WorkerEventCase::kStopped && !later.host.empty() && later.costs.contains(trial);
        });
        ASSERT_LT(k, state.view.workers.moves.size());
        const study::WorkerHistory::Move& move = state.view.workers.moves[k++];
        EXPECT_EQ(move.trial, trial);
        EXPECT_EQ(move.from, lost->worker);
        EXPECT_EQ(move.from_host, lost->host);
        EXPECT_EQ(move.seconds, seconds);
        ASSERT_EQ(move.to.has_value(), next_event != all.end());
        if (!move.to) {
          ++open;
          continue;
        }
        EXPECT_EQ(*move.to, next_event->worker);
        EXPECT_EQ(move.to_host, next_event->host);
        twice += next_event->kind == WorkerEventCase::kStopped ? 1 : 0;
      }
    }
    EXPECT_EQ(k, state.view.workers.moves.size());
    moves += k;
  }
  EXPECT_GT(moves, 1000U);
  EXPECT_GT(open, 100U);
  EXPECT_GT(twice, 100U);
}

}  // namespace
}  // namespace lanista::engine
