// Every rule of a search, on branches whose losses are known beforehand.
#include "lanista/study/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace lanista::study {
namespace {

using Indices = std::vector<std::size_t>;

/// The loss of a branch behind so many steps; the start is 1.
using Curve = std::function<double(std::int64_t step)>;

Curve falls(double speed) {
  return [speed](std::int64_t step) { return 1 - speed * static_cast<double>(step); };
}
/// Too noisy up to a step, and as steep as `falls` from there on.
Curve noisy_until(std::int64_t quiet, double speed) {
  return [=](std::int64_t step) {
    if (step == quiet / 2) return 3.0;
    return 1 - speed * static_cast<double>(step);
  };
}
Curve explodes() {
  return [](std::int64_t) { return 100.0; };
}

struct Scripted {
  std::vector<Curve> curves;
  TuneSearch search;
  std::vector<TuneSearch::Round> rounds;

  Scripted(TuneRules rules, std::vector<Curve> all, std::int64_t longest = 1000, std::int64_t trials = 100,
           bool from_now = false)
      : curves(std::move(all)),
        search(
            std::move(rules), longest, trials,
            [count = curves.size()](std::span<const Try> tries) -> std::optional<space::Sample> {
              if (tries.size() == count) return std::nullopt;
              return space::Sample{{"lr", static_cast<double>(tries.size())}};
            },
            from_now) {
    search.tell_start(search.start_steps() == 0 ? std::nan("") : 1);
  }
  void one_round() {
    const TuneSearch::Round round = search.round();
    rounds.push_back(round);
    for (const std::size_t branch : round.branches) {
      std::vector<double> losses;
      for (std::int64_t step = std::ssize(search.tries()[branch].losses) + 1; step <= round.steps; ++step) {
        losses.push_back(curves[branch](step));
      }
      search.tell(branch, losses);
    }
    search.end_round();
  }
  void run() {
    while (!search.round().branches.empty()) {
      ASSERT_LT(rounds.size(), 200U);
      one_round();
    }
  }
  Indices alive() const {
    Indices out;
    for (std::size_t i = 0; i < search.tries().size(); ++i) {
      if (search.tries()[i].alive) out.push_back(i);
    }
    return out;
  }
};

TuneRules one_at_a_time() {
  TuneRules rules;
  rules.together = 1;
  return rules;
}

TEST(TuneSearch, FixesTheTrialTimeToThatOfTheFirstThatConverges) {
  Scripted run(one_at_a_time(), {falls(0.01), falls(0.02), falls(0.005)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 3U);
  for (const auto& round : run.rounds) EXPECT_EQ(round.steps, 10);
  EXPECT_EQ(run.search.winner(), 1U);
  EXPECT_EQ(run.search.steps(), 10 + 30);
}

TEST(TuneSearch, BeginsWithTheTimeThatItIsGiven) {
  TuneRules rules = one_at_a_time();
  rules.time = 25;
  EXPECT_EQ(Scripted(rules, {falls(0.01)}).search.round().steps, 25);
  rules.time = 3;
  EXPECT_EQ(Scripted(rules, {falls(0.01)}).search.round().steps, 10);
  EXPECT_EQ(Scripted(rules, {falls(0.01)}, 7).search.round().steps, 7);  // no longer than an epoch
}

TEST(TuneSearch, DoublesTheTimeAndAddsATryWhileNothingConverges) {
  // A jump at step 5 lies in a window of its own share at 10, 20 and 40 steps; the third, which is quiet, converges.
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

TEST(TuneSearch, KillsWhatDiverges) {
  Scripted run(one_at_a_time(), {explodes(), falls(0.01)});

  run.one_round();
  EXPECT_EQ(run.alive(), (Indices{1}));  // the next try; the first is gone
  EXPECT_EQ(run.search.round().branches, (Indices{1}));
  EXPECT_EQ(run.search.round().steps, 20);
}

TEST(TuneSearch, WhatThrowsHasDiverged) {
  Scripted run(one_at_a_time(), {falls(0.01), falls(0.02)});
  run.search.tell_failed(0);
  run.search.end_round();

  EXPECT_FALSE(run.search.tries()[0].alive);
  EXPECT_EQ(run.search.tries()[0].seen.trend, Trend::kDiverged);
}

TEST(TuneSearch, FreesTheLoserAtOnce) {
  Scripted run(one_at_a_time(), {falls(0.01), falls(0.005), falls(0.02), falls(0.03)});

  run.one_round();
  run.one_round();
  EXPECT_EQ(run.alive(), (Indices{0, 2}));  // 2 is the next try
  run.one_round();
  EXPECT_EQ(run.alive(), (Indices{2, 3}));
}

TEST(TuneSearch, TakesTheBestUnstableBranchAtTheBound) {
  // At 10 steps the range is -0.1 and the largest rise 0.08; windows of two steps hide the shaking.
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

TEST(TuneSearch, HasConvergedWhereNothingMakesProgress) {
  Scripted run(one_at_a_time(), {falls(-0.01), falls(-0.02), explodes()}, 20);

  run.run();

  EXPECT_EQ(run.search.winner(), std::nullopt);
  EXPECT_TRUE(run.alive().empty());
}

TEST(TuneSearch, StopsWhenTheFiveBestSlopesAreWithinATenth) {
  // 1 - 0.91 / 1 = 9 %.
  Scripted run(one_at_a_time(), {falls(.1), falls(.098), falls(.095), falls(.093), falls(.091), falls(.5)});
  run.run();
  EXPECT_EQ(run.search.tries().size(), 5U);
  EXPECT_EQ(run.search.winner(), 0U);

  Scripted on(one_at_a_time(), {falls(.1), falls(.098), falls(.095), falls(.093), falls(.0899), falls(.05)});
  on.run();
  EXPECT_EQ(on.search.tries().size(), 6U);
}

TEST(TuneSearch, TriesNoMoreThanItMay) {
  Scripted run(one_at_a_time(), {falls(.01), falls(.02), falls(.04), falls(.08)}, 1000, 3);

  run.run();

  EXPECT_EQ(run.search.tries().size(), 3U);
  EXPECT_EQ(run.search.winner(), 2U);
}

TEST(TuneSearch, SeveralTriesBeginTogether) {
  TuneRules rules;
  rules.together = 3;
  Scripted run(rules, {falls(.01), falls(.02), falls(.04), falls(.08)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 2U);
  EXPECT_EQ(run.rounds[0].branches, (Indices{0, 1, 2}));
  EXPECT_EQ(run.rounds[1].branches, (Indices{3}));
  EXPECT_EQ(run.search.winner(), 3U);
}

TEST(TuneSearch, EqualSpeedsStayWithTheEarlier) {
  Scripted run(one_at_a_time(), {falls(.01), falls(.01)});
  run.run();
  EXPECT_EQ(run.search.winner(), 0U);
}

TEST(TuneSearch, GivesUpWhatFallsBehindBeforeItsTime) {
  TuneRules rules = one_at_a_time();
  rules.time = 40;
  rules.sequential = 3;
  const auto with_scatter = [](double speed) {
    return [speed](std::int64_t step) { return 1 - speed * static_cast<double>(step) + (step % 2 == 0 ? 1e-4 : 0); };
  };
  Scripted run(rules, {with_scatter(.02), falls(.005), falls(.03)});

  run.run();

  EXPECT_EQ(run.search.tries()[1].losses.size(), 10U);  // given up at the first look
  EXPECT_EQ(run.search.tries()[2].losses.size(), 40U);
  EXPECT_EQ(run.search.winner(), 2U);
}

TEST(TuneSearch, LooksASecondTimeAtTheTwoBest) {
  TuneRules rules = one_at_a_time();
  rules.second_look = 3;
  // The first falls faster at once, and no further.
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

TuneRules race() {
  TuneRules rules;
  rules.together = 8;
  rules.halving = 2;
  rules.time = 4;
  return rules;
}

/// Eight of them, the sixth the fastest; `also` is added to the loss of every step.
std::vector<Curve> eight(const std::function<double(std::int64_t)>& also) {
  std::vector<Curve> curves;
  for (const double speed : {.001, .002, .003, .004, .005, .009, .006, .0005}) {
    curves.push_back([=](std::int64_t step) { return falls(speed)(step - 1) + also(step); });
  }
  return curves;
}

TEST(TuneRace, HalvesThoseThatBeginTogetherAndDoublesTheirTime) {
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

TEST(TuneRace, DoesNotMindWhatTheBatchesDoToAll) {
  // A noise far above what tells the branches apart: as published, all would be unstable.
  Scripted run(race(), eight([](std::int64_t step) { return 2 + std::sin(static_cast<double>(7 * step)); }));

  run.run();

  EXPECT_EQ(run.search.winner(), 5U);
  EXPECT_EQ(run.rounds.size(), 3U);
}

TEST(TuneRace, EndsWithItsEpoch) {
  Scripted run(race(), eight([](auto) { return 0; }), 6);

  run.run();

  ASSERT_EQ(run.rounds.size(), 2U);
  EXPECT_EQ(run.rounds[1].steps, 6);
  EXPECT_EQ(run.search.winner(), 5U);
}

TEST(TuneRace, BeginsAgainWhileAllDiverge) {
  TuneRules rules = race();
  rules.together = 2;
  const Curve bad = [](std::int64_t step) { return step == 1 ? 1.0 : 100.0; };
  const Curve no_number = [](std::int64_t step) { return step == 1 ? 1.0 : std::nan(""); };
  Scripted run(rules, {bad, no_number, falls(.01), bad, falls(.02)});

  run.run();

  ASSERT_EQ(run.rounds.size(), 2U);
  EXPECT_EQ(run.rounds[1].branches, (Indices{2, 3}));
  EXPECT_EQ(run.search.winner(), 2U);

  Scripted none(rules, {bad, bad, bad, no_number});
  none.run();
  EXPECT_EQ(none.rounds.size(), 2U);
  EXPECT_EQ(none.search.winner(), std::nullopt);
}

TEST(TuneRace, IsWonByWhatBeatsTheSettingAtHand) {
  TuneRules rules = race();
  rules.together = 2;
  const std::vector<Curve> rising{falls(-.02), falls(-.01)};  // batches get harder

  Scripted against(rules, rising, 1000, 100, true);
  against.run();
  EXPECT_EQ(against.search.winner(), 1U);

  Scripted at_first(rules, rising);
  at_first.run();
  EXPECT_EQ(at_first.search.winner(), std::nullopt);
}

TEST(TuneRace, WaitsAndLooksLongerWhereSearchesFindNothing) {
  TuneRules rules = race();
  const auto searched = [](std::int64_t epoch, double rate) {
    Measurement m{TrialId{1}, epoch, epoch * 10, {{"val_accuracy", 0.5}}};
    if (rate > 0)
      m.branches = {{0, {{"lr", 0.5}}, 4, "converging", 1, false}, {0, {{"lr", rate}}, 4, "converging", 1, true}};
    return m;
  };
  std::vector<Measurement> seen{searched(1, 0.1)};
  EXPECT_EQ(longer_after(rules, seen), 1);
  seen.push_back(searched(2, 0));  // did not search
  EXPECT_EQ(longer_after(rules, seen), 1);
  for (const std::int64_t times : {2, 4, 4}) {
    seen.push_back(searched(std::ssize(seen) + 1, 0.1));
    EXPECT_EQ(longer_after(rules, seen), times);
  }
  rules.retune = 1;
  for (std::int64_t epochs = 1; epochs < 4; ++epochs) {
    seen.push_back(searched(std::ssize(seen) + 1, 0));
    EXPECT_EQ(wants_search(rules, seen), epochs == 3)
        << epochs;  // the last search was before an epoch that counts, too
  }
  seen.push_back(searched(std::ssize(seen) + 1, 0.2));
  EXPECT_EQ(longer_after(rules, seen), 1);
  rules.halving = 0;
  seen.push_back(searched(std::ssize(seen) + 1, 0.2));
  EXPECT_EQ(longer_after(rules, seen), 1);
}

Measurement measured(std::int64_t epoch, double accuracy, bool searched = false) {
  Measurement m{TrialId{1}, epoch, epoch * 10, {{"val_accuracy", accuracy}, {"val_loss", 1 - accuracy}}};
  if (searched) m.branches.push_back({});
  return m;
}

TEST(TuneRules, SearchAtTheBeginningAndAtPlateaus) {
  TuneRules rules;
  rules.retune = 2;
  std::vector<Measurement> seen;
  EXPECT_TRUE(wants_search(rules, seen));
  seen.push_back(measured(1, 0.5, true));
  EXPECT_FALSE(wants_search(rules, seen));
  seen.push_back(measured(2, 0.5));
  EXPECT_FALSE(wants_search(rules, seen));
  seen.push_back(measured(3, 0.4));
  EXPECT_TRUE(wants_search(rules, seen));
  seen.push_back(measured(4, 0.4, true));  // the search was before epoch 4: behind epoch 3
  EXPECT_FALSE(wants_search(rules, seen));
  seen.push_back(measured(5, 0.4));
  EXPECT_TRUE(wants_search(rules, seen));
  seen.back().metrics["val_accuracy"] = 0.6;  // an improvement
  EXPECT_FALSE(wants_search(rules, seen));
  rules.retune = 0;
  EXPECT_FALSE(wants_search(rules, seen));
}

TEST(TuneRules, TellWhatCanChangeInTraining) {
  EXPECT_TRUE(check_tunable("momentum").ok());
  const auto refused = check_tunable("batch");
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("'batch' cannot change while a trial trains; what can: lr, momentum"),
            std::string::npos);
}

TEST(TuneRules, ComeFromOptions) {
  const auto rules = tune_rules({"mltuner", {{"params", {{"lr", "log(0.1, 1)"}}}, {"windows", 5}, {"paired", false}}});
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(rules->trend.windows, 5);
  EXPECT_EQ(rules->trials, 30);
  EXPECT_FALSE(rules->paired);
  EXPECT_FALSE(tune_rules({"mltuner", Options::object()}).ok());
  const auto endless = tune_rules({"mltuner", {{"params", {{"lr", "log(0.1, 1)"}}}, {"halving", 1}}});
  ASSERT_FALSE(endless.ok());
  EXPECT_NE(endless.error().message.find("halving is 1"), std::string::npos);
  EXPECT_FALSE(tune_rules({"other", Options::object()}).ok());
}

TEST(Branches, AreReadAsTheyWereWritten) {
  Measurement m = measured(3, 0.5);
  m.branches = {{20, {}, 10, "start", 2.25, false}, {20, {{"lr", 0.1}}, 40, "converging", 1e-3, true}};
  const auto read = measurement_from_json(measurement_json(m));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->branches, m.branches);
  EXPECT_FALSE(measurement_json(measured(3, 0.5)).contains("branches"));
}

}  // namespace
}  // namespace lanista::study
