// When a trial searches, and the options of searches.
#include <gtest/gtest.h>

#include "lanista/search/study/program_key.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::study {
namespace {

TEST(TuneRules, LengthenAfterUnsuccessfulSearches) {
  TuneRules rules;
  const auto searched = [](std::int64_t epoch, double rate) {
    Measurement m{TrialId{1}, epoch, epoch * 10, {{"val_accuracy", 0.5}}};
    if (rate > 0)
      m.branches = {{0, {{"lr", 0.5}}, 4, "converging", 1, false}, {0, {{"lr", rate}}, 4, "converging", 1, true}};
    return m;
  };
  std::vector<Measurement> seen{searched(1, 0.1)};
  EXPECT_EQ(search_length_factor(seen), 1);
  seen.push_back(searched(2, 0));  // did not search
  EXPECT_EQ(search_length_factor(seen), 1);
  for (const std::int64_t times : {2, 4, 4}) {
    seen.push_back(searched(std::ssize(seen) + 1, 0.1));
    EXPECT_EQ(search_length_factor(seen), times);
  }
  rules.retune = 1;
  for (std::int64_t epochs = 1; epochs < 4; ++epochs) {
    seen.push_back(searched(std::ssize(seen) + 1, 0));
    EXPECT_EQ(is_search_due(rules, seen), epochs == 3) << epochs;  // the epoch after the last search counts, too
  }
  seen.push_back(searched(std::ssize(seen) + 1, 0.2));
  EXPECT_EQ(search_length_factor(seen), 1);
}

Measurement epoch_of(std::int64_t epoch, double accuracy, bool searched = false) {
  Measurement m{TrialId{1}, epoch, epoch * 10, {{"val_accuracy", accuracy}, {"val_loss", 1 - accuracy}}};
  if (searched) m.branches = {{0, {{"lr", 1 / static_cast<double>(epoch)}}, 4, "converging", 1, true}};  // a new one
  return m;
}

TEST(TuneRules, SearchAtStartAndAtPlateaus) {
  TuneRules rules;
  rules.retune = 2;
  std::vector<Measurement> seen;
  EXPECT_TRUE(is_search_due(rules, seen));
  seen.push_back(epoch_of(1, 0.5, true));
  EXPECT_FALSE(is_search_due(rules, seen));
  seen.push_back(epoch_of(2, 0.5));
  EXPECT_FALSE(is_search_due(rules, seen));
  seen.push_back(epoch_of(3, 0.4));
  EXPECT_TRUE(is_search_due(rules, seen));
  seen.push_back(epoch_of(4, 0.4, true));  // the search was between epochs 3 and 4
  EXPECT_FALSE(is_search_due(rules, seen));
  seen.push_back(epoch_of(5, 0.4));
  EXPECT_TRUE(is_search_due(rules, seen));
  seen.back().metrics["val_accuracy"] = 0.6;  // an improvement
  EXPECT_FALSE(is_search_due(rules, seen));
  rules.retune = 0;
  EXPECT_FALSE(is_search_due(rules, seen));
}

TEST(TuneRules, ScaleWaitWithTrialAge) {
  TuneRules rules;
  rules.retune = 2;
  rules.age = 0.25;
  std::vector<Measurement> seen{epoch_of(1, 0.1, true)};
  for (std::int64_t epoch = 2; epoch <= 12; ++epoch) seen.push_back(epoch_of(epoch, 0.1 * static_cast<double>(epoch)));
  for (std::int64_t epoch = 13; epoch <= 16; ++epoch) {
    seen.push_back(epoch_of(epoch, 0.5));
    EXPECT_EQ(is_search_due(rules, seen), epoch >= 15) << epoch;  // 3 since the best, a quarter of 15
  }
  rules.age = 0;
  seen.resize(14);
  EXPECT_TRUE(is_search_due(rules, seen));
  rules.retune = 0;
  rules.age = 0.25;
  EXPECT_FALSE(is_search_due(rules, seen));
}

TEST(TuneRules, ListTunableParameters) {
  EXPECT_TRUE(check_tunable("momentum").ok());
  EXPECT_TRUE(check_tunable("batch").ok());
  const auto refused = check_tunable("optimizer");
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("'optimizer' cannot change while a trial trains; what can: lr, momentum"),
            std::string::npos);
}

TEST(TuneRules, ComputeLargestBatch) {
  Recipe recipe;
  recipe.batch = 16;
  EXPECT_EQ(largest_batch(recipe), 16);
  recipe.tune = {"mltuner", {{"params", {{"batch", {16, 64, 32}}, {"lr", "log(0.1, 1)"}}}}};
  EXPECT_EQ(largest_batch(recipe), 64);
  EXPECT_TRUE(check_batches(recipe));
  Recipe smaller = recipe;
  smaller.tune.options["params"]["batch"] = {16, 32};
  EXPECT_NE(program_key(Digest{}, recipe), program_key(Digest{}, smaller)) << "a program is made for the largest batch";
  recipe.tune = replay_schedule({{0, {{"lr", 0.1}}}, {9, {{"batch", 48.0}}}});
  EXPECT_EQ(largest_batch(recipe), 48);
  EXPECT_TRUE(check_batches(recipe));
  for (const double wrong : {8.0, 40.0, 0.0, 32.5}) {
    recipe.tune = replay_schedule({{9, {{"batch", wrong}}}});
    const auto refused = check_batches(recipe);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("is no multiple of 16"), std::string::npos);
  }
}

TEST(TuneRules, ComeFromOptions) {
  const auto rules = tune_rules(PluginConfig{"mltuner", {{"params", {{"lr", "log(0.1, 1)"}}}, {"diverged", 5}}});
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(rules->diverged, 5);
  EXPECT_EQ(rules->trials, 30);
  EXPECT_EQ(rules->halving, 2);
  EXPECT_EQ(rules->retune, 2);
  EXPECT_EQ(rules->age, 0.25);
  EXPECT_EQ(rules->reach, 20);
  EXPECT_FALSE(tune_rules(PluginConfig{"mltuner", Options::object()}).ok());
  const auto endless = tune_rules(PluginConfig{"mltuner", {{"params", {{"lr", "log(0.1, 1)"}}}, {"halving", 1}}});
  ASSERT_FALSE(endless.ok());
  EXPECT_NE(endless.error().message.find("between 2 and 64"), std::string::npos) << endless.error().message;
  EXPECT_FALSE(tune_rules(PluginConfig{"other", Options::object()}).ok());
}

TEST(TuneRules, NarrowLaterSearchesAroundCurrent) {
  space::SearchSpace space;
  ASSERT_TRUE(space.add({"lr", space::FloatRange{.lo = 1e-4, .hi = 1, .log = true}, {}}));
  ASSERT_TRUE(space.add({"momentum", space::FloatRange{.lo = 0, .hi = 0.95}, {}}));
  ASSERT_TRUE(space.add({"batch", space::Categorical{{8.0, 16.0}}, {}}));
  const auto rates = [&](double at, double reach) {
    const space::Sample now{{"lr", at}, {"momentum", 0.5}, {"batch", 8.0}};
    const space::SearchSpace near = narrowed_space(space, now, reach);
    EXPECT_EQ(near.parameters().size(), 3U);
    EXPECT_EQ(near.parameters()[1].domain, space.parameters()[1].domain) << "a linear range is not narrowed";
    EXPECT_EQ(near.parameters()[2].domain, space.parameters()[2].domain);
    const auto& range = std::get<space::FloatRange>(near.parameters()[0].domain);
    EXPECT_TRUE(range.log);
    return std::pair(range.lo, range.hi);
  };
  EXPECT_EQ(rates(0.01, 10), std::pair(0.01 / 10, 0.01 * 10));
  EXPECT_EQ(rates(0.5, 10), std::pair(0.5 / 10, 1.0)) << "not beyond the range";
  EXPECT_EQ(rates(5e-4, 10), std::pair(1e-4, 5e-4 * 10));
  // The recipe's rate may be outside the range.
  EXPECT_EQ(rates(5, 10), std::pair(0.5, 1.0));
  EXPECT_EQ(rates(100, 10), std::pair(1e-4, 1.0));
  EXPECT_EQ(rates(1e-5, 10), std::pair(1e-4, 1.0)) << "only the edge of the range is near";
  EXPECT_EQ(rates(0, 10), std::pair(1e-4, 1.0)) << "the default decay is 0";
  // A quantised range has no values between multiples of its step.
  space::SearchSpace steps;
  ASSERT_TRUE(steps.add({"lr", space::FloatRange{.lo = 0.1, .hi = 1, .quant = 0.1, .log = true}, {}}));
  const auto near = narrowed_space(steps, {{"lr", 0.015}}, 10);
  EXPECT_EQ(std::get<space::FloatRange>(near.parameters()[0].domain).hi, 0.015 * 10) << "0.1 is in the range";
  const auto none = narrowed_space(steps, {{"lr", 0.25}}, 1.1);
  EXPECT_EQ(none.parameters()[0].domain, steps.parameters()[0].domain);
  // A grid that begins at its lower bound keeps its values.
  space::SearchSpace grid;
  ASSERT_TRUE(grid.add({"lr", space::FloatRange{.lo = 0.05, .hi = 1, .quant = 0.1, .log = true, .from_lo = true}, {}}));
  const auto cut = narrowed_space(grid, {{"lr", 0.45}}, 2).parameters()[0].domain;
  EXPECT_EQ(space::domain_value(cut, 0, 1), space::Value(0.25));
  EXPECT_EQ(space::domain_size(cut), 7) << "0.25, 0.35, …, 0.85";
}

TEST(Branches, RoundTrip) {
  Measurement m = epoch_of(3, 0.5);
  m.branches = {{20, {}, 10, "start", 2.25, false}, {20, {{"lr", 0.1}}, 40, "converging", 1e-3, true}};
  const auto read = measurement_from_json(measurement_json(m));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->branches, m.branches);
  EXPECT_FALSE(measurement_json(epoch_of(3, 0.5)).contains("branches"));
}

}  // namespace
}  // namespace lanista::study
