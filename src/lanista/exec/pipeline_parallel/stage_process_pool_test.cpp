// Ranks that fail before their first step. tests/pipeline_proof.cpp tests ranks that work, and that are killed.
#include "lanista/exec/pipeline_parallel/stage_process_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lanista::runtime {
namespace {

// Number of starts on each host, and the reported losses.
struct Hosts {
  /// Each host runs its text in a shell.
  explicit Hosts(const std::vector<std::string>& words, bool apart = true) : launches(words.size()) {
    StageHosts hosts{.hosts = {}, .has_separate_memory = apart};
    for (std::size_t i = 0; i < words.size(); ++i) {
      hosts.hosts.push_back(
          {[this, i, launch = engine::launch_command({"sh", "-c", words[i]})](const std::string& socket) {
             ++launches[i];
             return launch(socket);
           },
           "node" + std::to_string(i)});
    }
    process_pool =
        std::make_unique<StageProcessPool>(std::move(hosts), [this](const LostRank& lost) { losses.push_back(lost); });
  }

  /// Error message of a step of a program with so many ranks.
  std::string step(std::size_t ranks) {
    StageTask task;
    task.stages.ranks.resize(ranks);
    const auto at = process_pool->ranks(std::move(task));
    try {
      at->begin_step({.bytes = 4096, .program = {}, .rank_of = {}, .ranks = 2, .pieces = 1, .routes = {}});
    } catch (const program::RankLost& lost) {
      return lost.what();
    }
    return "";
  }

  std::vector<int> launches;
  std::vector<LostRank> losses;
  std::unique_ptr<StageProcessPool> process_pool;
};

TEST(StageProcessPool, AvoidUnreachableHosts) {
  Hosts hosts({"exit 255", "exit 3"});

  EXPECT_NE(hosts.step(2).find(" on node0 at rank 1 of a pipeline ended with exit code 255"), std::string::npos);
  EXPECT_NE(hosts.step(2).find(" on node1 at rank 1 of a pipeline ended with exit code 3"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(hosts.step(2), "no host can start a rank of a pipeline; the hosts are tried again later");

  EXPECT_EQ(hosts.launches, (std::vector<int>{1, 1}));
  ASSERT_EQ(hosts.losses.size(), 2U);
  EXPECT_EQ(hosts.losses[0].host, "node0");
  EXPECT_EQ(hosts.losses[0].reason, "ended with exit code 255");
}

// A host may be used again after a process was killed there; so may this host.
TEST(StageProcessPool, RetryAfterAKillAndOnTheLocalHost) {
  Hosts killed({"kill -9 $$"}), reported({"exit 137"}), here({"exit 1"}, false);
  for (int i = 1; i < 4; ++i) {
    EXPECT_NE(killed.step(2).find("was killed by signal 9"), std::string::npos);
    EXPECT_NE(reported.step(2).find("was killed by signal 9"), std::string::npos);
    EXPECT_NE(here.step(2).find("ended with exit code 1"), std::string::npos);
    EXPECT_EQ(killed.launches[0] + reported.launches[0] + here.launches[0], 3 * i);
  }
}

TEST(StageProcessPool, KillProcessesThatViolateTheProtocol) {
  EXPECT_NE(
      Hosts({"echo Welcome to node0; cat > /dev/null"}).step(2).find("at rank 1 of a pipeline sent a message of "),
      std::string::npos);
  // A frame with a wrong checksum.
  Hosts odd({R"(printf '\0\0\0\0\102\0\0\0'; printf '\0\0\0\0'; cat > /dev/null)"});
  EXPECT_NE(odd.step(2).find("at rank 1 of a pipeline sent a message with bytes that do not match"), std::string::npos);
  EXPECT_EQ(odd.losses.size(), 1U);
}

}  // namespace
}  // namespace lanista::runtime
