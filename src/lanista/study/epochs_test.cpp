#include "lanista/study/epochs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

Epochs drawn(Rng& rng) {
  Recipe recipe;
  recipe.batch = rng.between(1, 9);
  recipe.steps_per_epoch = rng.bernoulli(0.2) ? 0 : rng.between(1, 12);
  recipe.steps = rng.bernoulli(0.4) ? 0 : rng.between(1, 40);
  return epochs_of(recipe, rng.between(1, 40));
}

// Rows and steps one by one.
TEST(Epochs, AreWhatAPlainLoopCounts) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Epochs epochs = drawn(rng);
    std::int64_t rows_left = epochs.rows, passes = 1, in_epoch = 0, over = 0, begin = 0, rows_read = 0;
    for (std::int64_t step = 0; step < 60; ++step) {
      ASSERT_EQ(epochs.over(step), over) << step;
      ASSERT_EQ(epochs.begin(step), begin) << step;
      ASSERT_EQ(epochs.rows_read(step), rows_read) << step;
      if (rows_left == 0) {
        rows_left = epochs.rows;
        ++passes;
      }
      const std::int64_t taken = std::min(epochs.batch, rows_left);
      rows_left -= taken;
      rows_read += taken;
      if (++in_epoch < epochs.length && step + 1 != epochs.budget) continue;
      in_epoch = 0;
      begin = step + 1;
      ++over;
      ASSERT_EQ(epochs.through(over), step + 1);
      ASSERT_EQ(epochs.passes(over), passes);
    }
  }
}

TEST(Epochs, ArePassesUnlessTheRecipeSaysOtherwise) {
  Recipe recipe;
  recipe.batch = 16;
  const Epochs epochs = epochs_of(recipe, 100);
  EXPECT_EQ(epochs.length, 7);
  EXPECT_EQ(epochs.pass_steps(), 7);
  EXPECT_EQ(epochs.through(3), 21);
  EXPECT_EQ(epochs.passes(3), 3);
}

TEST(SettleEpochs, SaysHowManyEpochsABudgetInStepsHas) {
  struct Case {
    std::int64_t steps, each, epochs;
  };
  for (const auto& [steps, each, wanted] : {Case{1, 1, 1}, Case{1, 7, 1}, Case{7, 7, 1}, Case{8, 7, 2},
                                            Case{kMaxEpochs, 1, kMaxEpochs}, Case{kMaxSteps, kMaxSteps, 1}}) {
    TrainConfig train;
    train.steps = steps;
    train.steps_per_epoch = each;
    ASSERT_TRUE(settle_epochs(train)) << steps;
    EXPECT_EQ(train.epochs, wanted) << steps << " steps of " << each;
  }
  TrainConfig open;
  open.steps = 100;
  ASSERT_TRUE(settle_epochs(open));
  EXPECT_EQ(open.epochs, TrainConfig().epochs) << "nobody knows as yet";

  open.steps = kMaxEpochs + 1;
  open.steps_per_epoch = 1;
  const auto refused = settle_epochs(open);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "train.steps");
  EXPECT_EQ(refused.error().message, "1000001 steps are 1000001 epochs of 1; at most 1000000 are allowed");
}

}  // namespace
}  // namespace lanista::study
