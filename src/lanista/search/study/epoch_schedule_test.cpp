#include "lanista/search/study/epoch_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

EpochSchedule random_schedule(Rng& rng) {
  Recipe recipe;
  recipe.batch = rng.between(1, 9);
  recipe.steps_per_epoch = rng.bernoulli(0.2) ? 0 : rng.between(1, 12);
  recipe.steps = rng.bernoulli(0.4) ? 0 : rng.between(1, 40);
  return epoch_schedule_of(recipe, rng.between(1, 40));
}

// Rows and steps one by one.
TEST(EpochSchedule, MatchPlainLoop) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const EpochSchedule epochs = random_schedule(rng);
    std::int64_t rows_left = epochs.rows, passes = 1, in_epoch = 0, over = 0, begin = 0, rows_read = 0;
    for (std::int64_t step = 0; step < 60; ++step) {
      ASSERT_EQ(epochs.epochs_completed(step), over) << step;
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
      ASSERT_EQ(epochs.steps_through(over), step + 1);
      ASSERT_EQ(epochs.num_passes(over), passes);
    }
  }
}

// Growing passes, rows and steps one by one. The rows of a share are counted, not divided.
TEST(EpochSchedule, MatchPlainLoopForGrowingPasses) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Recipe recipe;
    recipe.batch = rng.between(1, 9);
    recipe.all_rows_at = rng.between(2, 15);
    const EpochSchedule epochs = epoch_schedule_of(recipe, rng.between(1, 60));
    std::int64_t step = 0, rows_read = 0;
    for (std::int64_t pass = 0; pass < 20; ++pass) {
      std::int64_t share = 0;
      while (share < epochs.rows && share * recipe.all_rows_at < (pass + 1) * epochs.rows) ++share;
      ASSERT_EQ(epochs.pass_rows(pass), share);
      ASSERT_EQ(epochs.steps_through(pass), step);
      ASSERT_EQ(epochs.pass_begin(pass), step);
      ASSERT_GE(epochs.num_passes(pass) * epochs.rows, rows_read);
      ASSERT_LT((epochs.num_passes(pass) - 1) * epochs.rows, std::max<std::int64_t>(rows_read, 1));
      const std::int64_t begin = step;
      for (std::int64_t left = share; left > 0; left -= recipe.batch, ++step) {
        ASSERT_EQ(epochs.pass(step), pass) << step;
        ASSERT_EQ(epochs.epochs_completed(step), pass) << step;
        ASSERT_EQ(epochs.begin(step), begin) << step;
        ASSERT_EQ(epochs.rows_read(step), rows_read) << step;
        rows_read += std::min(left, recipe.batch);
      }
    }
  }
}

TEST(EpochSchedule, CountGrowingPassesInLargeStudies) {
  Recipe recipe;
  recipe.batch = 7;
  recipe.all_rows_at = kMaxEpochs;
  const EpochSchedule epochs = epoch_schedule_of(recipe, std::int64_t{1} << 31);
  std::int64_t steps = 0, rows = 0;
  for (std::int64_t pass = 0; pass < 3000; ++pass) {
    ASSERT_EQ(epochs.pass_begin(pass), steps);
    ASSERT_EQ(epochs.rows_read(steps), rows);
    steps += (epochs.pass_rows(pass) + 6) / 7;
    rows += epochs.pass_rows(pass);
  }
  // All shares together are half of all passes plus half a share. Rounding up adds less than a row, or a step, to each
  // pass.
  const double whole = 0x1p31 * static_cast<double>(kMaxEpochs + 1) / 2;
  const std::int64_t all = epochs.pass_begin(kMaxEpochs);
  EXPECT_NEAR(static_cast<double>(epochs.rows_read(all)), whole, static_cast<double>(kMaxEpochs));
  EXPECT_NEAR(static_cast<double>(all), whole / 7, static_cast<double>(kMaxEpochs));
  EXPECT_EQ(epochs.pass(all - 1), kMaxEpochs - 1);
}

TEST(EpochSchedule, ArePassesByDefault) {
  Recipe recipe;
  recipe.batch = 16;
  const EpochSchedule epochs = epoch_schedule_of(recipe, 100);
  EXPECT_EQ(epochs.length, 7);
  EXPECT_EQ(epochs.pass_steps(), 7);
  EXPECT_EQ(epochs.steps_through(3), 21);
  EXPECT_EQ(epochs.num_passes(3), 3);
}

TEST(ResolveEpochs, ConvertsStepsToEpochs) {
  struct Case {
    std::int64_t steps, each, epochs;
  };
  for (const auto& [steps, each, wanted] : {Case{1, 1, 1}, Case{1, 7, 1}, Case{7, 7, 1}, Case{8, 7, 2},
                                            Case{kMaxEpochs, 1, kMaxEpochs}, Case{kMaxSteps, kMaxSteps, 1}}) {
    TrainConfig train;
    train.length.steps = steps;
    train.length.steps_per_epoch = each;
    ASSERT_TRUE(resolve_epochs(train)) << steps;
    EXPECT_EQ(train.length.epochs, wanted) << steps << " steps of " << each;
  }
  TrainConfig open;
  open.length.steps = 100;
  ASSERT_TRUE(resolve_epochs(open));
  EXPECT_EQ(open.length.epochs, TrainConfig().length.epochs) << "the steps of an epoch are not known yet";

  open.length.steps = kMaxEpochs + 1;
  open.length.steps_per_epoch = 1;
  const auto refused = resolve_epochs(open);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "train.steps");
  EXPECT_EQ(refused.error().message, "1000001 steps are 1000001 epochs of 1; at most 1000000 are allowed");
}

}  // namespace
}  // namespace lanista::study
