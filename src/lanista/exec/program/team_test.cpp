#include "lanista/exec/program/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lanista/base/rng.h"

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

// More threads than cores and pieces of next to nothing, so that helpers come late, to rounds long over.
TEST(Team, KeepsRoundsApart) {
  Team team(7);
  Rng rng(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int> done(rng.below(20));  // gone with the round
    team.share(static_cast<std::int64_t>(done.size()),
               [&done, round](int, std::int64_t piece) { done[static_cast<std::size_t>(piece)] += round; });
    EXPECT_EQ(std::count(done.begin(), done.end(), round), static_cast<std::int64_t>(done.size()));
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all fall asleep
  }
}

TEST(Team, HandsOnWhatSeveralPiecesThrow) {
  Team team(4);
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(team.share(40, [](int, std::int64_t) { throw std::runtime_error("culprit"); }), std::runtime_error);
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
