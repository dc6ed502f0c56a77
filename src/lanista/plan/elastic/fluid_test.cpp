#include "lanista/plan/elastic/fluid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/baselines/fluid_widths.h"
#include "lanista/base/rng.h"
#include "support/plan/elastic/test_support.h"

namespace lanista::plan {
namespace {

std::vector<double> values(const std::vector<Width>& widths) {
  std::vector<double> out;
  for (const Width& width : widths) out.push_back(width.value());
  return out;
}

Cluster random_cluster(Rng& rng) {
  return cluster_of(rng.between(1, 40), std::int64_t{1} << rng.between(0, 3), rng.between(1, 6));
}

/// Seconds of 1 to `most` trials.
std::vector<double> random_seconds(Rng& rng, std::int64_t most) {
  std::vector<double> seconds(static_cast<std::size_t>(rng.between(1, most)));
  for (double& each : seconds) each = rng.uniform(0.01, 5);
  return seconds;
}

TEST(StaticWidths, MayExceedTheWorkers) {
  const std::vector<double> seconds{8, 4, 2, 1, 1};

  EXPECT_EQ(values(static_widths(seconds, 4, cluster_of(4, 2, 4))), (std::vector<double>{2, 1, 0.5, 0.5, 0.5}));
  const auto equal = values(static_widths(std::vector<double>(100, 1.0), 10, cluster_of(10, 4, 4)));
  EXPECT_EQ(equal, std::vector<double>(100, 0.25));
}

TEST(StaticWidths, MayLeaveWorkersIdle) {
  EXPECT_EQ(values(static_widths(std::vector<double>{3, 3, 3}, 8, cluster_of(8, 2, 4))),
            (std::vector<double>{2, 2, 2}));
}

TEST(StaticWidths, AreWithinTheLimits) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const Cluster cluster = random_cluster(rng);
    const std::vector<double> seconds = random_seconds(rng, 30);

    for (const Width& width : static_widths(seconds, cluster.workers, cluster)) {
      EXPECT_TRUE(width.workers >= 1 && width.workers <= cluster.widest);
      EXPECT_TRUE(width.parts == 1 || (width.workers == 1 && width.parts == cluster.shares));
    }
  }
}

TEST(WaterLevel, MatchesManualCalculations) {
  const std::vector<double> seconds{8, 4, 2, 1, 1};

  EXPECT_NEAR(*water_level(seconds, cluster_of(4, 2, 4)), 4.8, 1e-9);
  EXPECT_NEAR(*water_level(std::vector<double>{3, 3, 3}, cluster_of(8, 2, 4)), 1.125, 1e-9);
  EXPECT_FALSE(water_level(std::vector<double>(100, 1.0), cluster_of(10, 4, 4)));  // More trials than parts of workers.
}

TEST(WaterLevel, FillsTheWorkersUnlessAllAreAtTheirWidest) {
  Rng rng(2);
  for (int round = 0; round < 300; ++round) {
    const Cluster cluster = random_cluster(rng);
    const std::vector<double> seconds = random_seconds(rng, 60);

    const auto level = water_level(seconds, cluster);

    const double narrowest = 1.0 / static_cast<double>(cluster.shares);
    EXPECT_EQ(level.has_value(),
              narrowest * static_cast<double>(seconds.size()) <= static_cast<double>(cluster.workers) + 1e-9);
    if (!level) continue;
    double sum = 0;
    bool all_widest = true;
    for (const double each : seconds) {
      const double width = std::min(std::max(each / *level, narrowest), static_cast<double>(cluster.widest));
      sum += width;
      all_widest = all_widest && width > static_cast<double>(cluster.widest) - 1e-9;
    }
    EXPECT_TRUE(all_widest || std::abs(sum - static_cast<double>(cluster.workers)) < 1e-6) << sum;
  }
}

TEST(DynamicWidths, NarrowToTheNewWidth) {
  // One of two long trials has nearly ended on its three workers. The other one needs them more.
  const Prediction trial = prediction_of(100, 0.2, 1, 0, 0.01);
  const std::vector<TrialState> trials{{trial, 0.9, Width{1, 1}}, {trial, 0.3, Width{3, 1}}};

  const auto widths = dynamic_widths(trials, cluster_of(4, 2, 4));

  EXPECT_EQ(widths[0], (Width{3, 1}));  // floor(0.75 x 4).
  EXPECT_EQ(widths[1], (Width{1, 1}));  // floor(0.25 x 4), not the three workers of before.
}

TEST(DynamicWidths, ChangeOnlyIfTheInequalityHolds) {
  Rng rng(3);
  int up = 0, down = 0, stays = 0;
  for (int round = 0; round < 2000; ++round) {
    Cluster cluster = cluster_of(rng.between(2, 16), 2, 4);
    cluster.interference = 0;
    std::vector<TrialState> trials;
    std::vector<double> left;
    const std::int64_t count = rng.between(1, 8);
    for (std::int64_t i = 0; i < count; ++i) {
      const double seconds = rng.uniform(1, 20);
      trials.push_back({prediction_of(seconds, rng.uniform(0, 0.5), 1, 0, rng.uniform(0, 0.5) * seconds),
                        rng.uniform(0.05, 1), Width{rng.between(1, 4), 1}});
      left.push_back(trials.back().left * seconds);
    }
    const auto wanted = static_widths(left, cluster.workers, cluster);
    const auto widths = dynamic_widths(trials, cluster);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const double serial = trials[i].trial.overhead, shared = trials[i].trial.work;
      const auto seconds = [&](const Width& width) {  // 1/n of a worker is n times slower.
        const double alone = width.parts > 1 ? (serial + shared) * static_cast<double>(width.parts)
                                             : serial + shared / static_cast<double>(width.workers);
        return trials[i].left * alone;
      };
      const double then = seconds(wanted[i]) + trials[i].trial.resize, now = seconds(*trials[i].width);
      const double new_width = wanted[i].value(), old_width = trials[i].width->value();
      if (widths[i] == *trials[i].width) {
        ++stays;
        EXPECT_FALSE(new_width > old_width && then < now * (1 - 1e-12));
        EXPECT_FALSE(new_width < old_width && new_width * then < old_width * now * (1 - 1e-12));
      } else {
        EXPECT_EQ(widths[i], wanted[i]);
        ++(new_width > old_width ? up : down);
        EXPECT_TRUE(new_width > old_width ? then < now : new_width * then < old_width * now);
      }
    }
  }
  EXPECT_GT(std::min({up, down, stays}), 100);
}

}  // namespace
}  // namespace lanista::plan
