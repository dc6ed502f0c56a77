// Every rule of a race, on branches with known losses.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "lanista/search/tuning/tuner.h"
#include "support/search/tuning/tuner_test_support.h"

namespace lanista::study {
namespace {

using testing::Curve;
using testing::explodes;
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
  EXPECT_EQ(run.search.start_steps(), 0);

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
  // The noise is far above the differences between branches: in the published search all would be unstable.
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
}

TEST(TuneRace, SelectsBranchThatBeatsCurrentSetting) {
  TuneRules rules = race();
  rules.parallel_tries = 2;
  const std::vector<Curve> rising{falls(-.02), falls(-.01)};  // batches get harder

  Scripted against(rules, rising, 1000, 100, true);
  against.run();
  EXPECT_EQ(against.search.winner(), 1U);

  Scripted at_first(rules, rising);
  at_first.run();
  EXPECT_EQ(at_first.search.winner(), std::nullopt);
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
  EXPECT_EQ(later.search.tries()[0].seen.trend, Trend::kConverging);
  EXPECT_EQ(later.search.tries()[2].seen.trend, Trend::kDiverged);

  // In the first search only the loss at the start is known.
  rules.progress = false;
  Scripted first(rules, all);
  first.run();
  EXPECT_EQ(first.search.winner(), std::nullopt);
}

TEST(TuneRace, SelectsBestOfFirstSearchWithoutProgress) {
  TuneRules rules = race();
  rules.parallel_tries = 2;
  rules.progress = false;
  Scripted run(rules, {falls(-.02), falls(-.01)});  // the batch at the start was an easy one

  run.run();

  EXPECT_EQ(run.search.winner(), 1U);

  Scripted one(rules, {falls(-.01)});  // there is no other branch
  one.run();
  EXPECT_EQ(one.search.winner(), std::nullopt);
}

/// A curve that falls by `speed` per step, with its own noise of period 16.
Curve oscillates(double speed, double by, double phase) {
  return [=](std::int64_t step) {
    return falls(speed)(step) + by * std::sin(static_cast<double>(step) * 2 * 3.14159265358979 * 3 / 16 + phase);
  };
}

TuneRules undoing_race() {
  TuneRules rules = race();
  rules.undo = 1;
  return rules;
}
/// A curve as `falls`, with the loss `then` from step `end` on.
Curve falls_until(double speed, std::int64_t end, double then) {
  return [=](std::int64_t step) { return step <= end ? 1 - speed * static_cast<double>(step) : then; };
}

TEST(TuneRace, DiscardsWinnerWorseThanCurrentSetting) {
  // Two rounds of 4 and 8 steps, and a probation up to step 16.
  const std::vector<Curve> curves{falls(.01), falls_until(.02, 8, .99), falls(.005), falls(.004)};
  TuneRules without = undoing_race();
  without.undo = 0;
  Scripted taken(without, curves, 1000, 4, true);
  taken.run();
  EXPECT_EQ(taken.search.winner(), 1U);

  Scripted undone(undoing_race(), curves, 1000, 4, true);
  undone.run();
  EXPECT_EQ(undone.search.winner(), std::nullopt) << "the trial returns to its state and keeps its setting";
  EXPECT_TRUE(undone.search.tries()[1].undone);
  EXPECT_EQ(std::ssize(undone.search.tries()[1].losses), 16);
  EXPECT_TRUE(undone.alive().empty());

  // The current setting had a mean loss of 1 - .01 * 6.5 over the later half of its eight steps.
  for (const double then : {.934, .936}) {
    Scripted close(undoing_race(), {falls(.01), falls_until(.02, 8, then), falls(.005), falls(.004)}, 1000, 4, true);
    close.run();
    EXPECT_EQ(close.search.winner().has_value(), then < .935) << then;
  }
  // Neither a branch that never wins nor a good winner is discarded. The current setting is never on probation.
  Scripted good(undoing_race(), {falls(.01), falls(.02)}, 1000, 2, true);
  good.run();
  EXPECT_EQ(good.search.winner(), 1U);
  EXPECT_GT(std::ssize(good.search.tries()[1].losses), std::ssize(good.search.tries()[0].losses));
  Scripted stays(undoing_race(), {falls_until(.02, 8, 5), falls(.01)}, 1000, 2, true);
  stays.run();
  EXPECT_EQ(stays.search.winner(), 0U);
}

TEST(TuneRace, StartsNewTriesAfterDiscardedWinner) {
  TuneRules rules = undoing_race();
  rules.parallel_tries = 2;
  Scripted run(rules, {falls_until(.03, 4, 1.2), falls(.001), falls(.01), falls(.002)}, 1000, 4);
  run.run();
  EXPECT_EQ(run.search.winner(), 2U);
  EXPECT_TRUE(run.search.tries()[0].undone);
  EXPECT_FALSE(run.search.tries()[2].undone);
  // Without other tries the trial keeps its setting. At the end of the epoch there is no probation.
  Scripted none(rules, {falls_until(.03, 4, 1.2), falls(.001)}, 1000, 2);
  none.run();
  EXPECT_EQ(none.search.winner(), std::nullopt);
  Scripted cut(rules, {falls_until(.03, 4, 1.2), falls(.001)}, 4, 2);
  cut.run();
  EXPECT_EQ(cut.search.winner(), 0U);
}

TuneRules sure_race() {
  TuneRules rules = race();
  rules.parallel_tries = 4;
  rules.sure_standard_errors = 2;
  return rules;
}

TEST(TuneRace, RunsUntilSignificantAgainstCurrent) {
  // The current setting is the slowest: without `sure_standard_errors` it would lose in the first round.
  const std::vector<Curve> curves{oscillates(.001, .05, 0), oscillates(.0012, .05, 1), oscillates(.004, .05, 2),
                                  oscillates(.0005, .05, 3)};
  Scripted run(sure_race(), curves, 1000, 100, true);

  run.run();

  EXPECT_EQ(run.rounds[0].branches, (Indices{0, 1, 2, 3}));
  for (const TuneSearch::Round& round : run.rounds) EXPECT_EQ(round.branches.front(), 0U);
  EXPECT_EQ(run.search.winner(), 2U);
  const std::int64_t steps = run.rounds.back().steps;
  EXPECT_GT(steps, 8);  // without `sure_standard_errors` it would end after two rounds
  const auto& tries = run.search.tries();
  EXPECT_GT(slope_difference_in_errors(tries[0].losses, tries[2].losses), 2);
  const std::span<const double> current(tries[0].losses), best(tries[2].losses);
  const auto half = static_cast<std::size_t>(steps / 2);
  EXPECT_LE(slope_difference_in_errors(current.first(half), best.first(half)), 2);  // it ended as early as possible
}

TEST(TuneRace, KeepsCurrentSettingWithoutSignificance) {
  // The challenger's level is lower by chance; its slope is the same.
  const std::vector<Curve> alike{oscillates(.001, .05, 0), oscillates(.001, .05, 1.5)};
  Scripted run(sure_race(), alike, 64, 100, true);
  run.run();
  EXPECT_EQ(run.rounds.back().steps, 64);
  EXPECT_EQ(run.search.winner(), 0U);
  EXPECT_EQ(run.alive(), (Indices{0}));

  // A branch that is significantly behind ends at once.
  Scripted behind(sure_race(), {falls(.01), falls(.001)}, 64, 100, true);
  behind.run();
  EXPECT_EQ(behind.rounds.size(), 1U);
  EXPECT_EQ(behind.search.winner(), 0U);

  // A current setting that has diverged does not stay.
  Scripted diverged(sure_race(), {explodes(), falls(.001), falls(.004)}, 64, 100, true);
  diverged.run();
  EXPECT_EQ(diverged.search.winner(), 2U);

  // The first search has no current setting.
  Scripted first(sure_race(), alike, 64);
  first.run();
  EXPECT_EQ(first.rounds.size(), 1U);
}

}  // namespace
}  // namespace lanista::study
