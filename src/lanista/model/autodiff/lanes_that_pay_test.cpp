#include "lanista/model/autodiff/lanes_that_pay.h"

#include <gtest/gtest.h>

namespace lanista::step {
namespace {

TEST(LanesThatPay, AreNoMoreThanTheSecondCacheHolds) {
  EXPECT_EQ(lanes_that_pay(0), kDefaultLanes);
  EXPECT_EQ(lanes_that_pay(100'000), kDefaultLanes);
  EXPECT_EQ(lanes_that_pay(300'000), 3);
  EXPECT_EQ(lanes_that_pay(5'000'000), 1);
}

}  // namespace
}  // namespace lanista::step
