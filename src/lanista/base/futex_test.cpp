// Waits at words in shared memory.
#include "lanista/base/futex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace lanista {
namespace {

using std::chrono::milliseconds, std::chrono::hours;

TEST(WaitableWord, CallsTheWatchAfterEachSleep) {
  WaitableWord word{};
  int calls = 0;
  const auto ready = [&] { return calls == 3; };
  word.wait(2, milliseconds(1), ready, [&] { ++calls; });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(word.waiters, 0U);
}

TEST(WaitableWord, SpinsBeforeItCountsAsAWaiter) {
  WaitableWord word{};
  int evaluations = 0, waiting = 0;
  const auto ready = [&] {
    waiting += static_cast<int>(word.waiters);
    return ++evaluations >= 5;
  };
  word.wait(5, milliseconds(1), ready, [] {});
  EXPECT_EQ(waiting, 0);
  evaluations = 0;
  word.wait(4, milliseconds(1), ready, [] {});
  EXPECT_EQ(waiting, 1);
}

TEST(WaitableWord, CountsNoWaiterAfterAWatchHasThrown) {
  WaitableWord word{};
  const auto ready = [] { return false; };
  const auto fail = [] { throw std::runtime_error("lost"); };
  EXPECT_THROW(word.wait(0, milliseconds(1), ready, fail), std::runtime_error);
  EXPECT_EQ(word.waiters, 0U);
}

TEST(WaitableWord, WakesAThreadForEachChange) {
  constexpr std::uint32_t kChanges = 1000;
  WaitableWord word{}, answer{};
  std::atomic<bool> timed_out = false;
  std::jthread thread([&] {
    for (std::uint32_t i = 1; i <= kChanges && !timed_out; ++i) {
      const auto ready = [&] { return word.value.load() >= i; };
      word.wait(0, hours(1), ready, [] {});
      answer.value.store(i);
      answer.wake_waiters();
    }
  });
  for (std::uint32_t i = 1; i <= kChanges && !timed_out; ++i) {
    word.value.store(i);
    word.wake_waiters();
    int sleeps = 0;
    const auto ready = [&] { return answer.value.load() == i || timed_out; };
    answer.wait(0, milliseconds(10), ready, [&] { timed_out = ++sleeps == 2000; });  // 20 seconds
  }
  EXPECT_FALSE(timed_out);
  word.value.store(kChanges);
  futex_wake_all(word.value);
}

}  // namespace
}  // namespace lanista
