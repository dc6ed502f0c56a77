// Every rule of the published search, on branches with known losses.
#include "lanista/search/tuning/tuner.h"

#include <gtest/gtest.h>

#include "support/search/tuning/tuner_test_support.h"

namespace lanista::study {
namespace {

using testing::Curve;
using testing::explodes;
using testing::falls;
using testing::Indices;
using testing::Scripted;

/// A curve with too much noise up to step `quiet`, and as `falls` after it.
Curve noisy_until(std::int64_t quiet, double speed) {
  return [=](std::int64_t step) {
    if (step == quiet / 2) return 3.0;
    return 1 - speed * static_cast<double>(step);
  };
}
TuneRules one_at_a_time() {
  TuneRules rules;
  rules.parallel_tries = 1;
  return rules;
}

TEST(TuneSearch, FixesTrialTimeAtFirstConvergence) {
  Scripted run(one_at_a_time(), {falls(0.01), falls(0.02), falls(0.005)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 3U);
  for (const auto& round : run.rounds) EXPECT_EQ(round.steps, 10);
  EXPECT_EQ(run.search.winner(), 1U);
  EXPECT_EQ(run.search.steps(), 10 + 30);
}

TEST(TuneSearch, StartsWithConfiguredTime) {
  TuneRules rules = one_at_a_time();
  rules.time = 25;
  EXPECT_EQ(Scripted(rules, {falls(0.01)}).search.round().steps, 25);
  rules.time = 3;
  EXPECT_EQ(Scripted(rules, {falls(0.01)}).search.round().steps, 10);
  EXPECT_EQ(Scripted(rules, {falls(0.01)}, 7).search.round().steps, 7);  // no longer than an epoch
}

TEST(TuneSearch, DoublesTheTimeAndAddsATryWhileNothingConverges) {
  // A jump at step 5 is in one window at 10, 20 and 40 steps. The third try, without noise, converges.
  Scripted run(one_at_a_time(), {noisy_until(10, 0.001), noisy_until(10, 0.001), falls(0.001), falls(0.002)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 4U);
  EXPECT_EQ(run.rounds[0].branches, (Indices{0}));
  EXPECT_EQ(run.rounds[0].steps, 10);
  EXPECT_EQ(run.rounds[1].branches, (Indices{0, 1}));
  EXPECT_EQ(run.rounds[1].steps, 20);
  EXPECT_EQ(run.rounds[2].branches, (Indices{0, 1, 2}));
  EXPECT_EQ(run.rounds[2].steps, 40);
  EXPECT_EQ(run.rounds[3].branches, (Indices{3}));
  EXPECT_EQ(run.rounds[3].steps, 40);
  EXPECT_EQ(run.search.winner(), 3U);
}

TEST(TuneSearch, DiscardsDivergedBranches) {
  Scripted run(one_at_a_time(), {explodes(), falls(0.01)});

  run.one_round();
  EXPECT_EQ(run.alive(), (Indices{1}));  // the next try; the first one was discarded
  EXPECT_EQ(run.search.round().branches, (Indices{1}));
  EXPECT_EQ(run.search.round().steps, 20);
}

TEST(TuneSearch, TreatsExceptionAsDivergence) {
  Scripted run(one_at_a_time(), {falls(0.01), falls(0.02)});
  run.search.mark_failed(0);
  run.search.end_round();

  EXPECT_FALSE(run.search.tries()[0].is_alive);
  EXPECT_EQ(run.search.tries()[0].seen.trend, Trend::kDiverged);
}

TEST(TuneSearch, FreesLosingBranchImmediately) {
  Scripted run(one_at_a_time(), {falls(0.01), falls(0.005), falls(0.02), falls(0.03)});

  run.one_round();
  run.one_round();
  EXPECT_EQ(run.alive(), (Indices{0, 2}));  // 2 is the next try
  run.one_round();
  EXPECT_EQ(run.alive(), (Indices{2, 3}));
}

TEST(TuneSearch, SelectsBestUnstableBranchAtLimit) {
  // At 10 steps the range is -0.1 and the largest rise 0.08; windows of two steps hide the oscillation.
  const auto shaky = [](double speed) {
    return [speed](std::int64_t step) { return 1 - speed * static_cast<double>(step) + (step % 2 == 0 ? 0.1 : 0); };
  };
  TuneRules rules = one_at_a_time();
  Scripted run(rules, {shaky(0.02), shaky(0.03), shaky(0.01)}, 20);

  run.run();

  ASSERT_EQ(run.rounds.size(), 3U);
  EXPECT_EQ(run.rounds[0].steps, 10);
  EXPECT_EQ(run.rounds[1].steps, 20);
  EXPECT_EQ(run.rounds[2].branches, (Indices{2}));
  EXPECT_EQ(run.search.tries()[1].seen.trend, Trend::kConverging);
  EXPECT_EQ(run.search.winner(), 1U);

  Scripted short_run(rules, {shaky(0.02), shaky(0.03), shaky(0.01)}, 10);
  short_run.run();
  ASSERT_EQ(short_run.rounds.size(), 1U);  // the bound is reached in the first round
  EXPECT_EQ(short_run.search.tries()[0].seen.trend, Trend::kUnstable);
  EXPECT_EQ(short_run.search.winner(), 0U);
}

TEST(TuneSearch, ReportsConvergenceWithoutProgress) {
  Scripted run(one_at_a_time(), {falls(-0.01), falls(-0.02), explodes()}, 20);

  run.run();

  EXPECT_EQ(run.search.winner(), std::nullopt);
  EXPECT_TRUE(run.alive().empty());
}

TEST(TuneSearch, StopsWhenFiveBestSpeedsAreClose) {
  // 1 - 0.91 / 1 = 9 %.
  Scripted run(one_at_a_time(), {falls(.1), falls(.098), falls(.095), falls(.093), falls(.091), falls(.5)});
  run.run();
  EXPECT_EQ(run.search.tries().size(), 5U);
  EXPECT_EQ(run.search.winner(), 0U);

  Scripted on(one_at_a_time(), {falls(.1), falls(.098), falls(.095), falls(.093), falls(.0899), falls(.05)});
  on.run();
  EXPECT_EQ(on.search.tries().size(), 6U);
}

TEST(TuneSearch, RespectsTryLimit) {
  Scripted run(one_at_a_time(), {falls(.01), falls(.02), falls(.04), falls(.08)}, 1000, 3);

  run.run();

  EXPECT_EQ(run.search.tries().size(), 3U);
  EXPECT_EQ(run.search.winner(), 2U);
}

TEST(TuneSearch, StartsSeveralTriesTogether) {
  TuneRules rules;
  rules.parallel_tries = 3;
  Scripted run(rules, {falls(.01), falls(.02), falls(.04), falls(.08)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 2U);
  EXPECT_EQ(run.rounds[0].branches, (Indices{0, 1, 2}));
  EXPECT_EQ(run.rounds[1].branches, (Indices{3}));
  EXPECT_EQ(run.search.winner(), 3U);
}

TEST(TuneSearch, KeepsEarlierBranchOnEqualSpeed) {
  Scripted run(one_at_a_time(), {falls(.01), falls(.01)});
  run.run();
  EXPECT_EQ(run.search.winner(), 0U);
}

TEST(TuneSearch, DiscardsLaggingBranchEarly) {
  TuneRules rules = one_at_a_time();
  rules.time = 40;
  rules.sequential = 3;
  const auto with_scatter = [](double speed) {
    return [speed](std::int64_t step) { return 1 - speed * static_cast<double>(step) + (step % 2 == 0 ? 1e-4 : 0); };
  };
  Scripted run(rules, {with_scatter(.02), falls(.005), falls(.03)});

  run.run();

  EXPECT_EQ(run.search.tries()[1].losses.size(), 10U);  // discarded at the first check
  EXPECT_EQ(run.search.tries()[2].losses.size(), 40U);
  EXPECT_EQ(run.search.winner(), 2U);
}

TEST(TuneSearch, RunsFinalRoundOfTwoBest) {
  TuneRules rules = one_at_a_time();
  rules.final_round_factor = 3;
  // The first try falls faster at the beginning, but not later.
  const Curve early = [](std::int64_t step) {
    return 1 - 0.02 * static_cast<double>(std::min<std::int64_t>(step, 10));
  };
  Scripted run(rules, {early, falls(.015), falls(.001)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 4U);
  EXPECT_EQ(run.rounds[3].branches, (Indices{0, 1}));
  EXPECT_EQ(run.rounds[3].steps, 30);
  EXPECT_EQ(run.search.winner(), 1U);
  EXPECT_EQ(run.alive(), (Indices{1}));
}

}  // namespace
}  // namespace lanista::study
