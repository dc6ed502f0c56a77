#include "lanista/exec/program/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::program {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::int64_t num_tasks : {0, 1, 2, 7, 100}) {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(num_tasks));
        std::atomic<int> unknown_threads = 0;
        pool.parallel_for(num_tasks, [&](int thread, std::int64_t task) {
          if (thread < 0 || thread >= threads) ++unknown_threads;
          ++done[static_cast<std::size_t>(task)];
        });
        for (const auto& times : done) EXPECT_EQ(times, 1);
        EXPECT_EQ(unknown_threads, 0);
      }
    }
  }
}

TEST(ThreadPool, RethrowsATaskExceptionAndContinues) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (std::int64_t culprit = 0; culprit < 20; ++culprit) {
      const auto work = [culprit](int, std::int64_t task) {
        if (task == culprit) throw std::runtime_error("culprit");
      };
      EXPECT_THROW(pool.parallel_for(20, work), std::runtime_error);
      std::atomic<int> done = 0;
      pool.parallel_for(20, [&](int, std::int64_t) { ++done; });
      EXPECT_EQ(done, 20);
    }
  }
}

// More threads than cores and very short tasks, so that helpers arrive after the end of a round.
TEST(ThreadPool, SeparatesRounds) {
  ThreadPool pool(7);
  Rng rng(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int> done(rng.below(20));  // gone with the round
    pool.parallel_for(static_cast<std::int64_t>(done.size()),
                      [&done, round](int, std::int64_t task) { done[static_cast<std::size_t>(task)] += round; });
    EXPECT_EQ(std::count(done.begin(), done.end(), round), static_cast<std::int64_t>(done.size()));
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all threads sleep
  }
}

TEST(ThreadPool, RethrowsOneOfSeveralExceptions) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(pool.parallel_for(40, [](int, std::int64_t) { throw std::runtime_error("culprit"); }),
                 std::runtime_error);
  }
}

TEST(ThreadPool, SupportsMoveAndAssignment) {
  ThreadPool pool(3);
  ThreadPool other = std::move(pool);
  other = ThreadPool(2);
  std::atomic<int> done = 0;
  other.parallel_for(9, [&](int, std::int64_t) { ++done; });
  EXPECT_EQ(done, 9);
}

}  // namespace
}  // namespace lanista::program
