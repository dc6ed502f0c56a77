#include "lanista/plan/elastic/width_tuner.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

/// Trains epochs at the widths of the tuner, with the seconds of `step`. Returns the number of epochs of each width.
template <class Step>
std::map<std::int64_t, int> train(WidthTuner& choice, int epochs, std::int64_t most, Step step) {
  std::map<std::int64_t, int> had;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::int64_t width = choice.next_width("p", most);
    EXPECT_GE(width, 1);
    EXPECT_LE(width, most);
    ++had[width];
    choice.observe("p", width, step(width));
  }
  return had;
}

TEST(WidthTuner, KeepsAWidthThatIsFivePercentFaster) {
  const auto kept = [](double shared) {
    WidthTuner choice;
    const auto had = train(choice, 40, 2, [&](std::int64_t width) { return width == 1 ? 1.0 : shared; });
    EXPECT_EQ(had.at(1) + had.at(2), 40);
    return had.at(2) > had.at(1) ? 2 : 1;
  };
  EXPECT_EQ(kept(0.6), 2);
  EXPECT_EQ(kept(0.94), 2);
  EXPECT_EQ(kept(0.96), 1);  // The gain is too small.
  EXPECT_EQ(kept(1.5), 1);
}

TEST(WidthTuner, TriesAWidthForTwoEpochs) {
  WidthTuner choice;
  const auto had = train(choice, 60, 2, [](std::int64_t width) { return width == 1 ? 1.0 : 3.0; });
  EXPECT_EQ(had.at(2), 2);
}

TEST(WidthTuner, StopsAtAWidthWithoutGain) {
  WidthTuner choice;
  const auto had = train(choice, 50, 8, [](std::int64_t width) { return width == 1 ? 1.0 : width == 2 ? 0.6 : 0.59; });
  EXPECT_FALSE(had.contains(8));
  EXPECT_EQ(had.at(4), 2);
  EXPECT_GT(had.at(2), 40);
}

// Random times from 3 % slower to 3 % faster do not change the width.
TEST(WidthTuner, DoesNotOscillate) {
  WidthTuner choice;
  Rng rng(3);
  int changes = 0;
  std::int64_t last = 0;
  for (int epoch = 0; epoch < 60; ++epoch) {
    const std::int64_t width = choice.next_width("p", 2);
    changes += last != 0 && width != last ? 1 : 0;
    last = width;
    choice.observe("p", width, rng.uniform(0.985, 1.015));
  }
  EXPECT_LE(changes, 2);  // One change and its return.
}

TEST(WidthTuner, ChangesTheWidthWhenTimesChange) {
  WidthTuner choice;
  // Another program uses the second core.
  train(choice, 30, 2, [](std::int64_t width) { return width == 1 ? 1.0 : 2.0; });
  EXPECT_EQ(choice.next_width("p", 2), 1);
  const auto had = train(choice, 400, 2, [](std::int64_t width) { return width == 1 ? 1.0 : 0.6; });
  EXPECT_GT(had.at(2), 250);
  EXPECT_EQ(choice.next_width("p", 2), 2);
}

TEST(WidthTuner, StartsFromKnownTimesAndUsesMeasuredOnes) {
  WidthTuner choice;
  choice.set_known_seconds("p", {{1, 1.0}, {2, 0.6}});
  EXPECT_EQ(choice.next_width("p", 2), 2);
  EXPECT_EQ(choice.next_width("p", 1), 1);
  train(choice, 12, 2, [](std::int64_t width) { return width == 1 ? 1.0 : 1.6; });
  EXPECT_EQ(choice.next_width("p", 2), 1);
  choice.set_known_seconds("p", {{1, 1.0}, {2, 0.1}});  // Ignored after the first epoch.
  EXPECT_EQ(choice.next_width("p", 2), 1);
  EXPECT_EQ(choice.next_width("q", 2), 1);  // Each program has its own widths.
}

}  // namespace
}  // namespace lanista::plan
