#include "lanista/search/study/worker_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/search/study/worker_usage.h"

namespace lanista::study {
namespace {

/// A study that is simulated tick by tick, with the intervals that must be rebuilt from its spans.
struct Played {
  StudyView view;
  std::map<std::int64_t, std::set<std::int64_t>> busy;            // busy ticks by worker
  std::map<TrialId, double> own;                                  // ticks of each trial
  std::map<std::pair<std::int64_t, double>, std::int64_t> helps;  // leader by worker and first tick
  std::uint32_t trials = 0;
  std::int64_t worker_timeline = 0;

  void work(std::int64_t worker, std::int64_t began, std::int64_t ended) {
    for (std::int64_t tick = began; tick < ended; ++tick) busy[worker].insert(tick);
  }

  /// Runs lanes that take turns and finish after these ticks. Each lane records a span when it finishes.
  void go(std::int64_t worker, std::int64_t began, std::vector<std::int64_t> through, std::int64_t width = 1) {
    std::ranges::sort(through);
    const double lanes = static_cast<double>(through.size());
    for (std::size_t k = 0; k < through.size(); ++k) {
      const TrialId trial{++trials};
      const double slice = static_cast<double>(through[k]) / lanes;
      const double at = static_cast<double>(began) + static_cast<double>(k) * slice;
      view.spans.push_back({trial, 1, worker, at, at + slice, std::ssize(through), width});
      for (std::int64_t tick = 0; tick < through[k]; ++tick) {
        const auto at_it = std::ranges::count_if(through, [&](std::int64_t end) { return end > tick; });
        own[trial] += 1 / static_cast<double>(at_it);
      }
    }
    work(worker, began, began + through.back());
    ++worker_timeline;
  }
};

/// Simulates waves of three workers: one leads an interval with helpers, the others work alone for all of it.
Played played(Rng rng) {
  constexpr std::int64_t kWorkers = 3;
  Played out;
  std::int64_t at = rng.between(0, 3);
  for (int wave = 0; wave < 12; ++wave) {
    const std::int64_t length = rng.between(4, 20), width = rng.between(1, kWorkers), leader = rng.between(0, 2);
    out.go(leader, at, {length}, width);
    std::int64_t wanted = width - 1;
    for (std::int64_t worker = 0; worker < kWorkers; ++worker) {
      if (worker == leader) continue;
      if (wanted-- > 0) {
        out.work(worker, at, at + length);
        out.helps[{worker, static_cast<double>(at)}] = leader;
        continue;
      }
      std::vector<std::int64_t> through(static_cast<std::size_t>(rng.between(1, 4)));
      for (std::int64_t& ticks : through) ticks = rng.between(1, length);
      through.front() = length;
      out.go(worker, at, through);
    }
    at += length + rng.between(0, 5);
  }
  return out;
}

TEST(WorkerTimeline, AreRebuiltFromSpans) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Played world = played(Rng(seed));
    const auto found = worker_timeline(world.view);

    std::map<std::int64_t, std::set<std::int64_t>> busy;
    std::map<std::pair<std::int64_t, double>, std::int64_t> helps;
    std::map<TrialId, double> own;
    std::int64_t led = 0;
    for (const WorkerInterval& go : found) {
      for (auto tick = std::llround(go.began); tick < std::llround(go.ended); ++tick) busy[go.worker].insert(tick);
      if (go.leader) {
        helps[{go.worker, go.began}] = *go.leader;
        continue;
      }
      ++led;
      double sum = 0;
      for (const WorkerInterval::TimeSlice& slice : go.slices) {
        own[world.view.spans[slice.span].trial] += slice.seconds;
        sum += slice.seconds;
      }
      EXPECT_NEAR(sum, go.seconds(), 1e-9) << seed;
      EXPECT_EQ(std::ssize(go.slices), go.lanes);
    }
    EXPECT_EQ(led, world.worker_timeline) << seed;
    EXPECT_EQ(busy, world.busy) << seed;
    EXPECT_EQ(helps, world.helps) << seed;
    ASSERT_EQ(own.size(), world.own.size());
    for (const auto& [trial, seconds] : world.own) EXPECT_NEAR(own[trial], seconds, 1e-9) << seed;

    const WorkerUsage use = worker_usage(world.view);
    double ticks = 0;
    for (const auto& [worker, of] : world.busy) {
      EXPECT_NEAR(use.busy.at(worker), static_cast<double>(of.size()), 1e-9) << seed;
      ticks += static_cast<double>(of.size());
    }
    EXPECT_NEAR(use.busy_seconds(), ticks, 1e-9);
  }
}

TEST(WorkerTimeline, SplitIntervalWhenLaneIsMissing) {
  Played world;
  world.go(4, 10, {6, 6, 6});
  world.view.spans.erase(world.view.spans.begin() + 1);  // it failed

  const auto found = worker_timeline(world.view);

  ASSERT_EQ(found.size(), 2U);
  EXPECT_DOUBLE_EQ(found[0].began, 10);
  EXPECT_DOUBLE_EQ(found[0].ended, 12);
  EXPECT_DOUBLE_EQ(found[1].began, 14);
  EXPECT_EQ(found[1].lanes, 3);
}

TEST(WorkerTimeline, AssignsIdleWorkersAsHelpers) {
  StudyView view;
  view.spans = {{TrialId{1}, 1, 0, 0, 4, 1, 2}, {TrialId{2}, 1, 1, 0, 3}};
  ASSERT_EQ(worker_timeline(view).size(), 2U) << "worker 1 was busy most of the time";
  view.workers.present = {{0, 70}, {1, 71}, {2, 72}};
  const auto found = worker_timeline(view);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[2].worker, 2);
  EXPECT_EQ(found[2].leader, 0);
  EXPECT_EQ(view.spans[found[2].slices.at(0).span].trial, TrialId{1});
  EXPECT_TRUE(worker_timeline({}).empty());
}

}  // namespace
}  // namespace lanista::study
