// Epochs of a trial that helpers take part in, come to, leave and die in: the bits of the trial alone.
#include "lanista/exec/train/data_parallel_session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/data_parallel_test_support.h"

namespace lanista::train {
namespace {

TEST(DataParallelSession, GivesTheBitsOfTheTrialAlone) {
  for (const char* const middle : {"relu", "batch_norm", "relu that adapts"}) {
    const bool adapts = std::string_view(middle).ends_with("adapts");
    TrainerInput input = data_parallel_trial(4, adapts ? "relu" : middle);
    if (adapts) {  // a helper measures noise and changes the batch as the leader does
      input.model =
          *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
      input.recipe.optimizer = "sgd";
      input.recipe.batch = 4;
      input.recipe.steps_per_epoch = 60;
      input.recipe.tune = {"adaptive", {{"most", 64}, {"rate", "none"}}};
    }
    const TrainedWithHelpers alone = train_as_leader(input, "", [](std::int64_t) {});
    for (const int helpers : adapts ? std::vector<int>{2} : std::vector<int>{1, 2, 3}) {
      const std::string path = new_session_path();
      std::atomic<bool> over = false;
      TrainedWithHelpers together;
      {
        std::vector<std::jthread> threads;
        for (int i = 0; i < helpers; ++i) {
          threads.emplace_back([&] {
            train_as_helper(
                input, path, [&] { return over.load(); }, 1'000'000, [] {});
          });
        }
        together = train_as_leader(input, path, [](std::int64_t) {});
        over = true;
      }
      EXPECT_EQ(together.helped, kNumEpochs);
      EXPECT_EQ(together.failed, 0);
      expect_equal(together.state, alone.state, middle + std::to_string(helpers));
      EXPECT_EQ(alone.state.facts.at("measurements").find("adapted") != std::string::npos, adapts);
      EXPECT_NE(::access(path.c_str(), F_OK), 0);
    }
  }
}

// A helper goes after some steps: at the first one of an epoch, or in the midst of it.
TEST(DataParallelSession, ContinuesWithoutHelpersThatLeave) {
  const TrainerInput input = data_parallel_trial(2, "batch_norm");
  const TrainedWithHelpers alone = train_as_leader(input, "", [](std::int64_t) {});
  for (const std::int64_t steps : {0, 1, 6, 7, 8, 13}) {
    const std::string path = new_session_path();
    std::atomic<bool> over = false;
    TrainedWithHelpers together;
    {
      const std::jthread helper([&] {
        train_as_helper(
            input, path, [&] { return over.load(); }, steps, [] {});
      });
      together = train_as_leader(input, path, [](std::int64_t) {});
      over = true;
    }
    EXPECT_EQ(together.failed, 1) << steps;
    expect_equal(together.state, alone.state, std::to_string(steps) + " steps");
  }
}

// Processes are killed between two steps, at random ones. Only the system releases their lock.
TEST(DataParallelSession, ContinuesWithoutHelpersThatDie) {
  const TrainerInput input = data_parallel_trial(2, "relu");
  const TrainedWithHelpers alone = train_as_leader(input, "", [](std::int64_t) {});
  Rng rng(7);
  for (int death = 0; death < 6; ++death) {
    const std::string path = new_session_path();
    const std::int64_t steps = rng.between(0, 19);
    const pid_t child = ::fork();
    if (child == 0) {
      train_as_helper(
          input, path, [] { return ::getppid() == 1; }, steps, [] { ::kill(::getpid(), SIGKILL); });
      ::_exit(0);
    }
    const TrainedWithHelpers together = train_as_leader(input, path, [](std::int64_t) {});
    ASSERT_GT(child, 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(together.failed, 1) << steps;
    expect_equal(together.state, alone.state, std::to_string(steps) + " steps");
  }
}

TEST(DataParallelHelper, NeedsALeader) {
  const auto missing = DataParallelHelper::join(new_session_path());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

// The leader dies while a helper waits for its epoch, or within one.
TEST(DataParallelHelper, IsFreeAgainWhenTheLeaderDies) {
  for (const std::int64_t epochs : {1, 2, 3}) {
    const TrainerInput input = data_parallel_trial(2, "relu");
    const std::string path = new_session_path();
    const pid_t child = ::fork();
    if (child == 0) {
      train_as_leader(input, path, [&](std::int64_t done) {
        if (done == epochs) ::kill(::getpid(), SIGKILL);
      });
      ::_exit(0);
    }
    int status = 0;
    std::atomic<bool> over = false;
    std::jthread watch([&] {
      ::waitpid(child, &status, 0);
      over = true;
    });
    train_as_helper(
        input, path, [&] { return over.load(); }, 1'000'000, [] {});
    watch.join();
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_FALSE(DataParallelHelper::join(path).ok());
    ::unlink(path.c_str());
  }
}

}  // namespace
}  // namespace lanista::train
