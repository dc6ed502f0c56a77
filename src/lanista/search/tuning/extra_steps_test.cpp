#include "lanista/search/tuning/extra_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

TuneRules racing() {
  TuneRules rules;
  rules.halving = 2;
  rules.time = 4;
  rules.parallel_tries = 8;
  rules.trials = 30;
  rules.retune = 2;
  rules.age = 0.25;
  return rules;
}

EpochSchedule of_steps(std::int64_t length) { return {.rows = 32 * length, .batch = 32, .length = length}; }

TEST(SearchSteps, MatchRules) {
  const ExtraSteps extra = search_steps(racing(), of_steps(40), 20);

  // 8 x 4, 4 more x 4, 2 more x 8, and the winner's 16 belong to the trial. Nothing improves after epoch 6. Searches
  // are due after 8 epochs, when 2 epochs and a quarter of all have passed, then after 10, 13 and 17.
  ASSERT_EQ(extra.searches, 5);
  for (const auto& at : extra.expected) EXPECT_EQ(at.steps, 48);
  EXPECT_EQ(extra.expected[0].epoch, 1);
  EXPECT_EQ(extra.expected[1].epoch, 9);
  EXPECT_EQ(extra.expected[2].epoch, 11);
  EXPECT_EQ(extra.expected[3].epoch, 14);
  EXPECT_EQ(extra.expected[4].epoch, 18);
  EXPECT_EQ(extra.expected_steps(), 240);
  EXPECT_EQ(extra.steps_through(1, 13), 96);
  TuneRules once = racing();
  once.retune = 0;
  EXPECT_EQ(search_steps(once, of_steps(40), 20).searches, 1);
  EXPECT_EQ(search_steps(once, of_steps(40), 20).most, 3 * 64 + 6 * 4 + 3 * 4) << "three races of 8 and one of 6";
  EXPECT_EQ(search_steps(racing(), of_steps(1), 5).most, 0) << "the last step of an epoch belongs to the trial";
}

/// Returns the steps of a search in which all branches diverge, each in its last possible round.
std::int64_t worst_search(TuneRules rules, std::int64_t longer, std::int64_t longest, bool is_first) {
  rules.time *= longer;
  TuneSearch search(
      rules, longest, rules.trials, [](std::span<const Try>) { return std::optional(space::Sample()); }, !is_first);
  while (!search.round().branches.empty()) {
    const TuneSearch::Round round = search.round();
    const bool is_last = round.steps == longest || std::ssize(round.branches) < 2 * rules.halving;
    for (const std::size_t branch : round.branches) {
      const auto done = std::ssize(search.tries()[branch].losses);
      search.add_losses(branch, std::vector<double>(static_cast<std::size_t>(round.steps - done), 1.0));
      if (is_last) search.mark_failed(branch);
    }
    search.end_round();
  }
  return search.steps();
}

TEST(SearchSteps, EqualWorstSearchCourse) {
  for (const auto& [retune, age, count] : {std::tuple(2, 0.25, 20), std::tuple(1, 0.5, 14), std::tuple(3, 0.0, 30)}) {
    TuneRules rules = racing();
    rules.retune = retune;
    rules.age = age;
    std::int64_t most = 0;
    const std::int64_t first = worst_search(rules, 1, 39, true);
    const std::map<std::int64_t, std::int64_t> later{{1, worst_search(rules, 1, 39, false)},
                                                     {2, worst_search(rules, 2, 39, false)},
                                                     {4, worst_search(rules, 4, 39, false)}};
    for (std::uint32_t finds = 0; finds < 1U << 12; ++finds) {  // bit k: search k finds a setting
      std::vector<Measurement> measurements;
      std::int64_t steps = 0, searches = 0;
      for (std::int64_t epoch = 1; epoch <= count; ++epoch) {
        Measurement m{TrialId{1}, epoch, 40 * epoch, {}};
        if (is_search_due(rules, measurements)) {
          steps += searches == 0 ? first : later.at(search_length_factor(measurements));
          const bool found = (finds >> searches) & 1;
          m.branches = {{0, {{"lr", static_cast<double>(++searches)}}, 1, "converging", 0, found}};
        }
        measurements.push_back(std::move(m));
      }
      ASSERT_LE(searches, 12);
      most = std::max(most, steps);
    }
    EXPECT_EQ(search_steps(rules, of_steps(40), count).most, most) << retune << " " << age;
  }
}

/// Returns the extra steps of a trial with random metrics and losses, as train::search_setting and TrialRun compute
/// them.
std::int64_t random_search_course(const TuneRules& rules, const EpochSchedule& epochs, std::int64_t count, Rng rng) {
  std::vector<Measurement> measurements;
  std::int64_t discarded = 0, last_tries = 0;
  const double better = rng.uniform(0, 0.6), diverges = rng.bernoulli(0.5) ? 0 : rng.uniform(0, 1);
  const bool diverges_late = rng.bernoulli(0.5);
  double metric = 0;
  for (std::int64_t epoch = 1; epoch <= count; ++epoch) {
    Measurement m{TrialId{1}, epoch, epochs.steps_through(epoch), {}};
    const std::int64_t longest = epochs.steps_through(epoch) - epochs.steps_through(epoch - 1) - rules.steps_per_update;
    if (is_search_due(rules, measurements) && longest >= 1) {
      const bool is_first = last_tries == 0;
      TuneRules now = rules;
      now.time *= search_length_factor(measurements);
      if (!is_first && rules.steps_per_update > 1) now.time = std::max(now.time, 2 * rules.steps_per_update);
      const std::int64_t trials = is_first ? rules.trials : std::min(rules.trials, last_tries);
      double rate = 0;
      TuneSearch search(
          now, longest, trials,
          [&](std::span<const Try>) {
            return std::optional(space::Sample{{"lr", rate += 1}});
          },
          !is_first);
      while (!search.round().branches.empty()) {
        const TuneSearch::Round round = search.round();
        for (const std::size_t branch : round.branches) {
          const auto done = std::ssize(search.tries()[branch].losses);
          std::vector<double> losses;
          for (auto k = done; k < round.steps; ++k) losses.push_back(k == 0 ? 1 : rng.uniform(0.2, 1.2));
          search.add_losses(branch, losses);
          if ((done > 0 || !diverges_late) && rng.bernoulli(diverges)) search.mark_failed(branch);
        }
        search.end_round();
      }
      const auto winner = search.winner();
      discarded += search.steps() - (winner ? std::ssize(search.tries()[*winner].losses) : 0);
      for (std::size_t i = 0; i < search.tries().size(); ++i) {  // the last update is complete
        const std::int64_t steps = std::ssize(search.tries()[i].losses), batch = rng.between(1, rules.steps_per_update);
        if (winner != i) discarded += (batch - steps % batch) % batch;
      }
      last_tries = std::ssize(search.tries());
      m.branches.push_back({m.step, {}, 0, "start", 1, false});
      for (std::size_t i = 0; i < search.tries().size(); ++i) {
        m.branches.push_back({m.step, search.tries()[i].setting, 1, "converging", 0, winner == i});
      }
    }
    if (rng.bernoulli(better)) metric += 1;
    m.metrics["val_accuracy"] = metric;
    measurements.push_back(std::move(m));
  }
  return discarded;
}

TEST(SearchSteps, NeverExceedMaximum) {
  double nearest = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Rng rng(seed);
    TuneRules rules = racing();
    rules.halving = std::vector<std::int64_t>{2, 2, 3}[rng.below(3)];
    rules.time = rng.between(0, 9);
    rules.parallel_tries = rng.between(1, 9);
    rules.trials = rng.between(1, 20);
    rules.retune = rng.between(0, 4);
    rules.age = rng.bernoulli(0.3) ? 0 : rng.uniform(0, 1.2);
    if (rng.bernoulli(0.3)) rules.steps_per_update = rng.between(2, 6);
    const EpochSchedule epochs = of_steps(rng.between(1, 30));
    const std::int64_t count = rng.between(1, 25);
    const ExtraSteps extra = search_steps(rules, epochs, count);
    ASSERT_LE(extra.expected_steps(), extra.most) << seed;
    for (std::uint64_t course = 0; course < 3; ++course) {
      const std::int64_t steps = random_search_course(rules, epochs, count, rng.split(course));
      ASSERT_LE(steps, extra.most) << seed;
      if (extra.most > 0) nearest = std::max(nearest, static_cast<double>(steps) / static_cast<double>(extra.most));
    }
  }
  EXPECT_GT(nearest, 0.95) << "the bound is nearly reached";
}

TEST(ExtraSteps, DependOnTheKindOfTuning) {
  Recipe recipe;
  recipe.epochs = 1;
  EXPECT_EQ(extra_steps(recipe, of_steps(40))->most, 0);
  recipe.tune = {"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}}}}};
  const auto extra = extra_steps(recipe, of_steps(40));
  ASSERT_TRUE(extra.ok()) << extra.error().message;
  EXPECT_EQ(extra->expected_steps(), 48);
  recipe.tune = {std::string(kReplaySchedule), {}};
  EXPECT_EQ(extra_steps(recipe, of_steps(40))->expected_steps(), 0);
  recipe.tune = {"mltuner", {{"halving", 1}, {"params", {{"lr", "log(1e-4, 1)"}}}}};
  EXPECT_FALSE(extra_steps(recipe, of_steps(40)).ok());
}

}  // namespace
}  // namespace lanista::study
