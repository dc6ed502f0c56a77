// Studies with rungs end with a trial that has trained its whole schedule, if the budget allows one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using namespace testing;

struct RungStudy {
  std::string strategy = "random", rule = "none";
  Options options = Options::object();
  std::int64_t epochs = 9, slots = 1;
  std::optional<std::int64_t> trials = {}, steps = {};
  std::int64_t configurations = 0;  ///< 0: a continuous range
  bool mutates = false;
  std::uint64_t seed = 1;

  std::string text() const {
    const auto number = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : "none"; };
    return strategy + ", " + rule + " " + options.dump() + ", " + std::to_string(epochs) + " epochs, trials " +
           number(trials) + ", steps " + number(steps) + ", slots " + std::to_string(slots) + ", configurations " +
           std::to_string(configurations) + (mutates ? ", mutations" : "") + ", seed " + std::to_string(seed);
  }
};

study::StudyConfig config_of(const RungStudy& setup, std::int64_t rules = study::kLatestRules) {
  study::StudyConfig config = small_study(8);
  if (!setup.mutates) config.space.mutate.clear();
  config.space.params = {};
  space::Domain lr = space::FloatRange{0.01, 0.5, 0, true};
  if (setup.configurations > 0) {
    space::Categorical choice;
    for (std::int64_t i = 1; i <= setup.configurations; ++i) choice.values.emplace_back(0.01 * static_cast<double>(i));
    lr = choice;
  }
  LANISTA_CHECK(config.space.params.add({"lr", lr, {}}).ok(), "the test's own space");
  config.train.length.epochs = setup.epochs;
  config.strategy = {setup.strategy, setup.slots, Options::object()};
  config.stop = {setup.rule, setup.options};
  config.budget = {setup.trials, setup.steps, {}};
  config.run.seed = setup.seed;
  config.data.rules = rules;
  return config;
}

/// The number of trials that trained to the last epoch.
std::int64_t trained_to_end(const RungStudy& setup, std::int64_t rules = study::kLatestRules) {
  Bench bench;
  const auto done = bench.run(config_of(setup, rules), FakeOptions{.seed = setup.seed, .workers = setup.slots});
  EXPECT_TRUE(done) << setup.text() << ": " << (done ? "" : done.error().text());
  if (!done) return 0;
  const StudyView view = bench.view();
  if (setup.steps) {
    EXPECT_LE(view.steps, *setup.steps) << setup.text();
  }
  return std::ranges::count_if(view.trials,
                               [&](const TrialView& trial) { return std::ssize(trial.measurements) == setup.epochs; });
}

RungStudy random_setup(Rng rng) {
  RungStudy out;
  const auto pick = [&](const std::vector<std::string>& all) { return all[rng.below(all.size())]; };
  out.strategy = pick({"random", "sobol", "grid", "tpe", "bohb", "evolution", "dehb", "dehb", "dehb"});
  out.epochs = std::vector<std::int64_t>{3, 4, 9, 27}[rng.below(4)];
  if (out.strategy != "dehb") {
    out.rule = pick({"asha", "asha", "successive_halving", "hyperband"});
    if (out.rule == "asha") out.options["type"] = pick({"promotion", "promotion", "stopping"});
    if (out.rule != "asha") out.options["brackets"] = pick({"together", "in_turn"});
  }
  out.slots = rng.between(1, 4);
  constexpr std::int64_t kStepsPerEpoch = 2;  // 14 rows in batches of 8
  const std::int64_t whole = kStepsPerEpoch * out.epochs;
  const std::uint64_t kind = rng.below(3);
  if (kind != 0) out.trials = std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 10, 20}[rng.below(8)];
  if (kind != 1) out.steps = whole + rng.between(0, 3 * whole);
  out.configurations = rng.between(0, 4);
  out.mutates = out.strategy != "grid" && rng.bernoulli(0.2);
  out.seed = rng.below(1000);
  return out;
}

TEST(LastRung, IsReachedWithinEveryBudget) {
  const Rng rng(43);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const RungStudy setup = random_setup(rng.split(i));
    EXPECT_GE(trained_to_end(setup), 1) << setup.text();
  }
}

TEST(LastRung, IsReachedByTheBestOfAnUnfilledRung) {
  // Six of the nine trials that the first rung needs: two continue to epoch 3, one to epoch 9.
  const RungStudy six{.strategy = "dehb", .trials = 6};
  Bench bench;
  ASSERT_TRUE(bench.run(config_of(six), {}));
  std::map<std::size_t, int> of_epochs;
  for (const TrialView& trial : bench.view().trials) ++of_epochs[trial.measurements.size()];
  EXPECT_EQ(of_epochs, (std::map<std::size_t, int>{{1, 4}, {3, 1}, {9, 1}}));
  EXPECT_EQ(trained_to_end({.strategy = "dehb", .trials = 30, .configurations = 2}), 1);
  EXPECT_EQ(trained_to_end({.rule = "asha", .options = {{"type", "promotion"}}, .trials = 2}), 1);
}

TEST(LastRung, IsNotReachedWithFirstRules) {
  EXPECT_EQ(trained_to_end({.strategy = "dehb", .trials = 6}, study::kFirstRules), 0);
  EXPECT_EQ(trained_to_end({.strategy = "dehb", .trials = 30, .configurations = 2}, study::kFirstRules), 0);
  EXPECT_EQ(trained_to_end({.rule = "asha", .options = {{"type", "promotion"}}, .trials = 2}, study::kFirstRules), 0);
}

TEST(LastRung, ResumesAtTheSameDecisions) {
  for (const RungStudy& setup :
       {RungStudy{.strategy = "dehb", .slots = 2, .trials = 6}, RungStudy{.rule = "hyperband", .slots = 2, .steps = 40},
        RungStudy{.rule = "asha", .options = {{"type", "promotion"}}, .slots = 2, .trials = 2}}) {
    Bench whole;
    const auto snapshots = with_new_records(
        snapshots_of(whole, [&](FileSystem& fs) { return whole.run(config_of(setup), FakeOptions{}, fs); }));
    const std::string expected = whole.canonical();
    for (std::size_t i = 1; i < snapshots.size(); i += 3) {
      Bench bench;
      put_all(bench.disk, snapshots[i]);
      const auto done = bench.resume({});
      if (!done) continue;  // too early: the log has no header yet
      ASSERT_EQ(bench.canonical(), expected) << setup.text() << ", cut " << i;
    }
  }
}

}  // namespace
}  // namespace lanista::engine
