#include "lanista/model/autodiff/max_cached_lanes.h"

#include <gtest/gtest.h>

namespace lanista::autodiff {
namespace {

TEST(MaxCachedLanes, FitIntoSecondLevelCache) {
  EXPECT_EQ(max_cached_lanes(0), kDefaultLanes);
  EXPECT_EQ(max_cached_lanes(100'000), kDefaultLanes);
  EXPECT_EQ(max_cached_lanes(300'000), 3);
  EXPECT_EQ(max_cached_lanes(5'000'000), 1);
}

}  // namespace
}  // namespace lanista::autodiff
