#include "lanista/plan/elastic/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "lanista/base/rng.h"
#include "support/plan/elastic/test_support.h"

namespace lanista::plan {
namespace {

std::vector<Prediction> random_trials(Rng& rng, std::int64_t count) {
  std::vector<Prediction> trials;
  for (std::int64_t i = 0; i < count; ++i) {
    trials.push_back(prediction_of(rng.uniform(0.2, 4), rng.uniform(0, 0.5), rng.uniform(0.2, 1), rng.uniform(0.1, 1)));
  }
  return trials;
}

/// Returns the shortest makespan of schedules with constant widths and without sharing. It tries all widths and orders,
/// and starts each trial as early as enough workers are free.
double best_fixed(const std::vector<Prediction>& trials, std::int64_t workers, std::int64_t widest) {
  const std::size_t m = trials.size();
  double best = 1e300;
  std::vector<std::int64_t> widths(m, 1);
  const std::int64_t most = std::min(workers, widest);
  while (true) {
    std::vector<std::size_t> order(m);
    std::iota(order.begin(), order.end(), 0);
    do {
      struct Block {
        double begin, end;
        std::int64_t width;
      };
      std::vector<Block> blocks;
      double makespan = 0;
      for (const std::size_t i : order) {
        const double seconds = trials[i].steps * (trials[i].work / static_cast<double>(widths[i]) + trials[i].overhead);
        std::vector<double> times{0};
        for (const Block& block : blocks) times.push_back(block.end);
        std::ranges::sort(times);
        for (const double begin : times) {
          std::vector<double> marks{begin};
          for (const Block& block : blocks) {
            if (block.begin > begin && block.begin < begin + seconds) marks.push_back(block.begin);
          }
          const bool fits = std::ranges::all_of(marks, [&](double mark) {
            std::int64_t used = widths[i];
            for (const Block& block : blocks) used += block.begin <= mark && mark < block.end ? block.width : 0;
            return used <= workers;
          });
          if (!fits) continue;
          blocks.push_back({begin, begin + seconds, widths[i]});
          makespan = std::max(makespan, begin + seconds);
          break;
        }
      }
      best = std::min(best, makespan);
    } while (std::ranges::next_permutation(order).found);
    std::size_t k = 0;
    while (k < m && widths[k] == most) widths[k++] = 1;
    if (k == m) return best;
    ++widths[k];
  }
}

/// Returns the time slots until all trials have ended, with widths that may change in each slot. It searches breadth
/// first over the remaining work.
int fewest_slots(const std::vector<Prediction>& trials, std::int64_t workers, double slot) {
  std::set<std::vector<int>> now{std::vector<int>(trials.size(), 1'000'000'000)};
  for (int slots = 1; slots < 60; ++slots) {
    std::set<std::vector<int>> next;
    for (const auto& left : now) {
      std::vector<std::int64_t> widths(trials.size(), 0);
      while (true) {
        if (std::accumulate(widths.begin(), widths.end(), std::int64_t{0}) <= workers) {
          std::vector<int> then = left;
          for (std::size_t i = 0; i < trials.size(); ++i) {
            if (widths[i] == 0) continue;
            const double seconds = trials[i].work / static_cast<double>(widths[i]) + trials[i].overhead;
            // Progress is rounded up, so the result is not above the possible one.
            then[i] = std::max(0, then[i] - static_cast<int>(slot / seconds * 1e9 + 1));
          }
          if (std::ranges::all_of(then, [](int each) { return each == 0; })) return slots;
          next.insert(then);
        }
        std::size_t k = 0;
        while (k < widths.size() && widths[k] == workers) widths[k++] = 0;
        if (k == widths.size()) break;
        ++widths[k];
      }
    }
    now = std::move(next);
  }
  return 60;
}

TEST(Bounds, MatchTheFormulasForEqualTrials) {
  const std::vector<Prediction> trials(8, prediction_of(3, 0));

  const Bounds four = bounds_of(trials, cluster_of(4, 1, 4));
  const Bounds many = bounds_of(trials, cluster_of(100, 1, 4));

  EXPECT_DOUBLE_EQ(four.area, 6);  // 8 x 3 / 4
  EXPECT_DOUBLE_EQ(four.longest, 0.75);
  EXPECT_NEAR(four.dual, 6, 1e-9);
  EXPECT_DOUBLE_EQ(many.dual, 0.75);
  EXPECT_DOUBLE_EQ(bounds_of({}, cluster_of(1, 1, 1)).dual, 0);
}

TEST(Bounds, CountBusyTimeWhereWorkersMayBeShared) {
  const std::vector<Prediction> trials(10, prediction_of(1, 0.5, 0.25));

  EXPECT_NEAR(bounds_of(trials, cluster_of(2, 1, 1)).dual, 5, 1e-9);
  EXPECT_NEAR(bounds_of(trials, cluster_of(2, 4, 1)).dual, 1.25, 1e-9);
}

TEST(Bounds, CountMemoryTimesItsLeastTimeOfUse) {
  const std::vector<Prediction> trials(6, prediction_of(2, 0, 0.1, 0.9));
  Cluster cluster = cluster_of(2, 4, 1);
  cluster.memory = 2;
  cluster.reserve = 0.1;

  EXPECT_NEAR(bounds_of(trials, cluster).memory, 6 * 0.9 * 2 / (2 * 1.8), 1e-12);
}

TEST(Bounds, NoScheduleOfFixedWidthsIsBelowThem) {
  Rng rng(1);
  double closest = 1e300;
  for (int round = 0; round < 60; ++round) {
    const std::int64_t workers = rng.between(1, 3);
    const auto trials = random_trials(rng, rng.between(1, 4));

    const Bounds bounds = bounds_of(trials, cluster_of(workers, 1, 3));
    const double best = best_fixed(trials, workers, 3);

    EXPECT_LE(bounds.dual, best * (1 + 1e-9)) << round;
    EXPECT_LE(bounds.elastic, bounds.dual * (1 + 1e-9)) << round;
    EXPECT_GE(bounds.dual * (1 + 1e-9), std::max(bounds.area, bounds.longest)) << round;
    EXPECT_GE(bounds.elastic * (1 + 1e-9), std::max(bounds.area, bounds.longest)) << round;
    closest = std::min(closest, best / bounds.dual);
  }
  EXPECT_LT(closest, 1 + 1e-9);  // The bound is reached.
}

TEST(Bounds, NoScheduleOfChangingWidthsIsBelowTheElasticOne) {
  Rng rng(2);
  bool passes_the_dual = false;
  for (int round = 0; round < 12; ++round) {
    const auto trials = random_trials(rng, 2);
    const double slot = bounds_of(trials, cluster_of(3, 1, 3)).area / 8;

    const Bounds bounds = bounds_of(trials, cluster_of(3, 1, 3));
    const double found = slot * fewest_slots(trials, 3, slot);

    EXPECT_LE(bounds.elastic, found * (1 + 1e-9)) << round;
    EXPECT_LE(found, bounds.elastic * 1.5) << round;
    passes_the_dual = passes_the_dual || found < bounds.dual;
  }
  EXPECT_TRUE(passes_the_dual);  // So the dual bound does not hold for changing widths.
}

TEST(Bounds, DoNotGrowWithMoreWorkers) {
  Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    const auto trials = random_trials(rng, rng.between(1, 20));
    Bounds before = bounds_of(trials, cluster_of(1, 4, 4));
    for (std::int64_t workers = 2; workers < 12; ++workers) {
      const Bounds now = bounds_of(trials, cluster_of(workers, 4, 4));
      EXPECT_LE(now.area, before.area * (1 + 1e-12));
      EXPECT_LE(now.longest, before.longest * (1 + 1e-12));
      EXPECT_LE(now.memory, before.memory * (1 + 1e-12));
      EXPECT_LE(now.dual, before.dual * (1 + 1e-9));
      EXPECT_LE(now.elastic, before.elastic * (1 + 1e-9));
      before = now;
    }
  }
}

}  // namespace
}  // namespace lanista::plan
