#include "lanista/exec/train/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace lanista::train {
namespace {

study::Recipe recipe(const std::string& schedule) {
  study::Recipe r;
  r.schedule = schedule;
  r.epochs = 10;
  r.lr = 0.4;
  r.step_every = 3;
  r.step_factor = 0.5;
  return r;
}

TEST(LearningRate, StaysConstantWithoutASchedule) {
  for (const std::int64_t step : {0, 17, 99}) EXPECT_EQ(learning_rate(recipe("constant"), step, 10), 0.4);
}

TEST(LearningRate, DropsEveryFewEpochs) {
  const auto r = recipe("step");

  EXPECT_EQ(learning_rate(r, 29, 10), 0.4);
  EXPECT_EQ(learning_rate(r, 30, 10), 0.2);
  EXPECT_EQ(learning_rate(r, 99, 10), 0.05);
}

TEST(LearningRate, FollowsTheCosineToZero) {
  const auto r = recipe("cosine");

  for (std::int64_t step = 0; step < 100; ++step) {
    const double expected = 0.2 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / 100));
    EXPECT_NEAR(learning_rate(r, step, 10), expected, 1e-14) << step;
  }
  EXPECT_NEAR(learning_rate(r, 100, 10), 0, 1e-15);
}

// Ten epochs of ten steps, but for the last one, which has three.
TEST(LearningRate, EndsAtTheStepBudget) {
  auto r = recipe("cosine");
  r.steps = 93;
  r.warmup_epochs = 0.5;
  for (std::int64_t step = 5; step <= 93; ++step) {
    const double expected = 0.2 * (1 + std::cos(std::numbers::pi * static_cast<double>(step - 5) / 88));
    EXPECT_NEAR(learning_rate(r, step, 10), expected, 1e-14) << step;
  }
  r.epochs = 4;  // a trial with a shorter schedule of its own
  EXPECT_NEAR(learning_rate(r, 40, 10), 0, 1e-15);
}

TEST(LearningRate, IsEasedInTheFirstTwentiethOfAllSteps) {
  for (const char* schedule : {"constant", "cosine"}) {
    const auto plain = recipe(schedule);
    auto eased = plain;
    eased.ease = 0.3;
    for (std::int64_t step = 0; step < 100; ++step) {
      const double rate = learning_rate(plain, step, 10);
      EXPECT_EQ(learning_rate(eased, step, 10), step < 5 ? rate * 0.3 : rate) << schedule << " " << step;
    }
    eased.steps = 41;  // a twentieth is two and a bit
    auto short_plain = plain;
    short_plain.steps = 41;
    EXPECT_EQ(learning_rate(eased, 2, 10), 0.3 * learning_rate(short_plain, 2, 10));
    EXPECT_EQ(learning_rate(eased, 3, 10), learning_rate(short_plain, 3, 10));
  }
}

TEST(LearningRate, WarmsUpLinearlyAndThenBeginsTheSchedule) {
  auto r = recipe("cosine");
  r.warmup_epochs = 1.5;

  EXPECT_DOUBLE_EQ(learning_rate(r, 0, 10), 0.4 / 16);
  EXPECT_DOUBLE_EQ(learning_rate(r, 14, 10), 0.4 * 15 / 16);
  EXPECT_EQ(learning_rate(r, 15, 10), 0.4);
  EXPECT_LT(learning_rate(r, 16, 10), 0.4);
}

}  // namespace
}  // namespace lanista::train
