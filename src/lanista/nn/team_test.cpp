#include "lanista/nn/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace lanista::nn {
namespace {

TEST(Team, DoesEveryPieceOnce) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    EXPECT_EQ(team.size(), threads);
    for (const std::int64_t pieces : {0, 1, 2, 7, 100}) {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(pieces));
        std::atomic<int> strangers = 0;
        team.share(pieces, [&](int thread, std::int64_t piece) {
          if (thread < 0 || thread >= threads) ++strangers;
          ++done[static_cast<std::size_t>(piece)];
        });
        for (const auto& times : done) EXPECT_EQ(times, 1);
        EXPECT_EQ(strangers, 0);
      }
    }
  }
}

TEST(Team, HandsOnWhatAPieceThrowsAndGoesOn) {
  for (const int threads : {1, 3}) {
    Team team(threads);
    for (std::int64_t culprit = 0; culprit < 20; ++culprit) {
      const auto work = [culprit](int, std::int64_t piece) {
        if (piece == culprit) throw std::runtime_error("culprit");
      };
      EXPECT_THROW(team.share(20, work), std::runtime_error);
      std::atomic<int> done = 0;
      team.share(20, [&](int, std::int64_t) { ++done; });
      EXPECT_EQ(done, 20);
    }
  }
}

TEST(Team, MayBeMovedAndReplaced) {
  Team team(3);
  Team other = std::move(team);
  other = Team(2);
  std::atomic<int> done = 0;
  other.share(9, [&](int, std::int64_t) { ++done; });
  EXPECT_EQ(done, 9);
}

}  // namespace
}  // namespace lanista::nn
