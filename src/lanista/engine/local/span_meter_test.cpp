#include "lanista/engine/local/span_meter.h"

#include <gtest/gtest.h>

#include <array>

namespace lanista::runtime {
namespace {

using study::SpanCosts;

TEST(SpanMeter, SeparatesStepsFromMeasuring) {
  SpanCosts one, other;
  const std::array<SpanCosts*, 2> lanes{&one, &other};
  add_chunk_costs(0.04, 2, lanes, std::array<std::uint8_t, 2>{0, 0});  // 10 ms a step of each
  add_chunk_costs(0.08, 4, lanes, std::array<std::uint8_t, 2>{0, 0});
  add_chunk_costs(0.09, 3, lanes, std::array<std::uint8_t, 2>{1, 0});  // of which 60 ms are steps

  EXPECT_EQ(one.steps, 9);
  EXPECT_EQ(other.steps, 9);
  EXPECT_NEAR(one.stepping, 0.09, 1e-12);
  EXPECT_NEAR(other.stepping, 0.09, 1e-12);
  EXPECT_NEAR(one.evaluating, 0.03, 1e-12);
  EXPECT_EQ(other.evaluating, 0);
}

TEST(SpanMeter, NeverExceedsTheMeasuredTime) {
  SpanCosts slow;
  const std::array<SpanCosts*, 1> lanes{&slow};
  add_chunk_costs(1.0, 1, lanes, std::array<std::uint8_t, 1>{0});  // interrupted
  add_chunk_costs(0.5, 7, lanes, std::array<std::uint8_t, 1>{1});
  EXPECT_NEAR(slow.stepping + slow.evaluating, 1.5, 1e-12);
  EXPECT_GE(slow.evaluating, 0);
}

TEST(SpanMeter, DoesNotSplitTheTimeOfAnEpochOfOneChunk) {
  SpanCosts costs;
  const std::array<SpanCosts*, 1> lanes{&costs};
  add_chunk_costs(0.5, 1, lanes, std::array<std::uint8_t, 1>{1});
  EXPECT_EQ(costs, SpanCosts());
}

}  // namespace
}  // namespace lanista::runtime
