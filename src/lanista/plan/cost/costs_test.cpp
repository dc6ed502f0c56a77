#include "lanista/plan/cost/costs.h"

#include <gtest/gtest.h>

namespace lanista::plan {
namespace {

TEST(CostPrices, AddArithmeticTrafficAndCallTime) {
  const CostPrices prices{.gflops = 50, .gb_per_second = 20, .call_us = 0.25};

  EXPECT_DOUBLE_EQ(prices.us(0, 0), 0.25);
  EXPECT_DOUBLE_EQ(prices.us(100'000, 0), 2.25);
  EXPECT_DOUBLE_EQ(prices.us(100'000, 40'000), 4.25);
  EXPECT_DOUBLE_EQ(prices.us(100'000, 40'000, 3), 4.75);
}

TEST(CostPrices, CountTheLongerOfOverlappingParts) {
  const CostPrices prices{.gflops = 50, .gb_per_second = 20, .call_us = 0.25, .overlaps = true};

  EXPECT_DOUBLE_EQ(prices.us(100'000, 20'000), 2.25);
  EXPECT_DOUBLE_EQ(prices.us(100'000, 80'000, 2), 4.5);
}

}  // namespace
}  // namespace lanista::plan
