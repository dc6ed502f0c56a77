#include "lanista/search/study/pareto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

TEST(NonDominatedRanks, PeelFrontAfterFront) {
  const std::vector<std::vector<double>> points{{1, 3}, {2, 2}, {3, 1}, {2, 3}, {3, 3}, {1, 3}};
  EXPECT_EQ(non_dominated_ranks(points), (std::vector<std::int64_t>{0, 0, 0, 1, 2, 0}));
}

TEST(NonDominatedRanks, MatchOrderForOneGoal) {
  EXPECT_EQ(non_dominated_ranks({{5}, {1}, {3}, {1}}), (std::vector<std::int64_t>{2, 0, 1, 0}));
}

TEST(NonDominatedRanks, RankFailedTrialsBehindOthers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(non_dominated_ranks({{}, {1, 1}, {nan, 0}, {2, 2}}), (std::vector<std::int64_t>{2, 0, 2, 1}));
  EXPECT_EQ(non_dominated_ranks({{}, {}}), (std::vector<std::int64_t>{0, 0}));
}

TEST(NonDominatedRanks, EqualLongestDominationChain) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    std::vector<std::vector<double>> points;
    for (int i = 0; i < 40; ++i) {
      points.push_back(
          {static_cast<double>(rng.below(8)), static_cast<double>(rng.below(8)), static_cast<double>(rng.below(8))});
    }
    const auto dominates = [&](std::size_t a, std::size_t b) {
      bool all = true, any = false;
      for (std::size_t k = 0; k < 3; ++k) {
        all = all && points[a][k] <= points[b][k];
        any = any || points[a][k] < points[b][k];
      }
      return all && any;
    };
    const auto ranks = non_dominated_ranks(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::int64_t above = -1;
      for (std::size_t k = 0; k < points.size(); ++k) {
        if (dominates(k, i)) above = std::max(above, ranks[k]);
      }
      EXPECT_EQ(ranks[i], above + 1);
    }
  }
}

TEST(CrowdingDistance, SumsTheGapsOfAFrontAndKeepsItsEnds) {
  const std::vector<std::vector<double>> points{{0, 4}, {1, 3}, {4, 0}, {3, 2.5}, {5, 5}, {NAN, 0}, {}};
  const auto ranks = non_dominated_ranks(points);
  ASSERT_EQ(ranks, (std::vector<std::int64_t>{0, 0, 0, 0, 1, 2, 2}));

  const auto distances = crowding_distances(points, ranks);

  EXPECT_EQ(distances[0], INFINITY);
  EXPECT_EQ(distances[1], 3.0 / 4 + 1.5 / 4);
  EXPECT_EQ(distances[2], INFINITY);
  EXPECT_EQ(distances[3], 3.0 / 4 + 3.0 / 4);
  EXPECT_EQ(distances[4], INFINITY);
  EXPECT_EQ(distances[5], 0);
  EXPECT_EQ(distances[6], 0);
}

TEST(Losses, NegateMaximizedGoals) {
  const auto values =
      losses({{true, "acc"}, {false, "loss"}, {false, "none"}}, {TrialId{1}, 1, 1, {{"acc", 2}, {"loss", 3}}});
  EXPECT_EQ(values[0], -2);
  EXPECT_EQ(values[1], 3);
  EXPECT_TRUE(std::isnan(values[2]));
}

}  // namespace
}  // namespace lanista::study
