#include "lanista/base/memory_budget.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace lanista {
namespace {

TEST(MemoryBudget, HoldsBytesUntilReservationEnds) {
  MemoryBudget budget(100);
  {
    auto first = budget.reserve(60);
    ASSERT_TRUE(first);
    EXPECT_EQ(budget.used(), 60);
  }

  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudget, RefusesExcessAndReportsBytes) {
  MemoryBudget budget(100);
  auto first = budget.reserve(60);
  ASSERT_TRUE(first);

  const auto second = budget.reserve(41);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kResourceExhausted);
  EXPECT_EQ(second.error().message, "tensor memory: 41 bytes wanted, 60 of 100 allowed bytes are held");
  EXPECT_EQ(budget.used(), 60);
  EXPECT_TRUE(budget.reserve(40));
}

TEST(MemoryBudget, MovedReservationIsReleasedOnce) {
  MemoryBudget budget(100);
  auto first = budget.reserve(10);
  auto second = budget.reserve(20);
  ASSERT_TRUE(first && second);

  MemoryBudget::Reservation kept = std::move(*first);
  kept = std::move(*second);
  EXPECT_EQ(budget.used(), 20);

  kept = MemoryBudget::Reservation();
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudget, NeverExceedsLimitWithManyThreads) {
  MemoryBudget budget(1000);
  std::atomic<std::int64_t> held = 0, most = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          const auto reserved = budget.reserve(300);
          if (!reserved) continue;
          const std::int64_t now = held += 300;
          for (std::int64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          held -= 300;
        }
      });
    }
  }

  EXPECT_EQ(budget.used(), 0);
  EXPECT_GE(most, 300);
  EXPECT_LE(most, 1000);
}

}  // namespace
}  // namespace lanista
