// Every rule of a race, on branches with known losses.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "lanista/search/tuning/tuner.h"
#include "support/search/tuning/tuner_test_support.h"

namespace lanista::study {
namespace {

using testing::Curve;
using testing::falls;
using testing::Indices;
using testing::Scripted;

TuneRules race() {
  TuneRules rules;
  rules.parallel_tries = 8;
  rules.halving = 2;
  rules.time = 4;
  return rules;
}

/// Returns eight curves, of which the sixth is the fastest. `also` is added to the loss of every step.
std::vector<Curve> eight(const std::function<double(std::int64_t)>& also) {
  std::vector<Curve> curves;
  for (const double speed : {.001, .002, .003, .004, .005, .009, .006, .0005}) {
    curves.push_back([=](std::int64_t step) { return falls(speed)(step - 1) + also(step); });
  }
  return curves;
}

TEST(TuneRace, HalvesBranchesAndDoublesTime) {
  Scripted run(race(), eight([](auto) { return 0; }));

  run.run();

  ASSERT_EQ(run.rounds.size(), 3U);
  EXPECT_EQ(run.rounds[0].branches, (Indices{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(run.rounds[0].steps, 4);
  EXPECT_EQ(run.rounds[1].branches, (Indices{3, 4, 5, 6}));
  EXPECT_EQ(run.rounds[1].steps, 8);
  EXPECT_EQ(run.rounds[2].branches, (Indices{5, 6}));
  EXPECT_EQ(run.rounds[2].steps, 16);
  EXPECT_EQ(run.search.winner(), 5U);
  EXPECT_EQ(run.alive(), (Indices{5}));
  EXPECT_EQ(run.search.steps(), 8 * 4 + 4 * 4 + 2 * 8);
  EXPECT_EQ(run.search.start_loss(), 1);  // the first losses, before any update
}

TEST(TuneRace, IgnoresNoiseCommonToAllBranches) {
  // The noise is far above the differences between branches.
  Scripted run(race(), eight([](std::int64_t step) { return 2 + std::sin(static_cast<double>(7 * step)); }));

  run.run();

  EXPECT_EQ(run.search.winner(), 5U);
  EXPECT_EQ(run.rounds.size(), 3U);
}

TEST(TuneRace, StopsAtEndOfEpoch) {
  Scripted run(race(), eight([](auto) { return 0; }), 6);

  run.run();

  ASSERT_EQ(run.rounds.size(), 2U);
  EXPECT_EQ(run.rounds[1].steps, 6);
  EXPECT_EQ(run.search.winner(), 5U);
}

TEST(TuneRace, RestartsWhileAllDiverge) {
  TuneRules rules = race();
  rules.parallel_tries = 2;
  const Curve bad = [](std::int64_t step) { return step == 1 ? 1.0 : 100.0; };
  const Curve not_finite = [](std::int64_t step) { return step == 1 ? 1.0 : std::nan(""); };
  Scripted run(rules, {bad, not_finite, falls(.01), bad, falls(.02)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 2U);
  EXPECT_EQ(run.rounds[1].branches, (Indices{2, 3}));
  EXPECT_EQ(run.search.winner(), 2U);

  Scripted none(rules, {bad, bad, bad, not_finite});
  none.run();
  EXPECT_EQ(none.rounds.size(), 2U);
  EXPECT_EQ(none.search.winner(), std::nullopt);

  Scripted limited(rules, {bad, bad, bad, falls(.01)}, 1000, 3);
  limited.run();
  EXPECT_EQ(limited.search.tries().size(), 3U);
  EXPECT_EQ(limited.search.winner(), std::nullopt);
}

TEST(TuneRace, TreatsExceptionAsDivergence) {
  TuneRules rules = race();
  rules.parallel_tries = 2;
  Scripted run(rules, {falls(.02), falls(.01)});
  run.search.mark_failed(0);

  run.run();

  EXPECT_TRUE(run.search.tries()[0].diverged);
  EXPECT_EQ(run.search.winner(), 1U);
}

TEST(TuneRace, SelectsBranchThatBeatsCurrentSetting) {
  TuneRules rules = race();
  rules.parallel_tries = 2;
  const std::vector<Curve> rising{falls(-.02), falls(-.01)};  // batches get harder

  Scripted against(rules, rising, 1000, 100, true);
  against.run();
  EXPECT_EQ(against.search.winner(), 1U);
}

TEST(TuneRace, IgnoresSingleLowLossBatch) {
  TuneRules rules = race();
  rules.parallel_tries = 3;
  // All branches read an easy batch first and usual ones afterwards. Ten times the first loss is below the usual loss.
  const auto after_easy_batch = [](double usual) {
    return [usual](std::int64_t step) { return step == 1 ? 1e-3 : usual; };
  };
  const Curve explodes_after = [](std::int64_t step) { return step == 1 ? 1e-3 : 9.0; };
  const std::vector<Curve> all{after_easy_batch(.2), after_easy_batch(.15), explodes_after};

  Scripted later(rules, all, 1000, 100, true);
  later.run();
  EXPECT_EQ(later.rounds.size(), 1U);
  EXPECT_EQ(later.search.winner(), 1U);
  EXPECT_FALSE(later.search.tries()[0].diverged);
  EXPECT_TRUE(later.search.tries()[2].diverged);

  // In the first search only the loss at the start is known.
  Scripted first(rules, all);
  first.run();
  EXPECT_EQ(first.search.winner(), std::nullopt);
}

TEST(TuneRace, SelectsBestOfFirstSearchWithoutProgress) {
  TuneRules rules = race();
  rules.parallel_tries = 2;
  Scripted run(rules, {falls(-.02), falls(-.01)});  // the batch at the start was an easy one

  run.run();

  EXPECT_EQ(run.search.winner(), 1U);

  Scripted one(rules, {falls(-.01)});  // there is no other branch
  one.run();
  EXPECT_EQ(one.search.winner(), std::nullopt);
}

}  // namespace
}  // namespace lanista::study
