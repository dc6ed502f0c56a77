#include "lanista/strategy/asha.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/strategy/builtin.h"

namespace lanista::strategy {
namespace {

using study::Verdict;

std::unique_ptr<StoppingRule> make_rule(const nlohmann::json& options, std::int64_t epochs = 9, bool maximize = true) {
  const StoppingPlugin plugin = asha_plugin();
  const auto resolved = resolve_options(options, plugin.options);
  LANISTA_CHECK(resolved.ok(), resolved ? "" : resolved.error().text());
  auto rule = plugin.make({{maximize, "m"}}, epochs, *resolved);
  LANISTA_CHECK(rule.ok(), rule ? "" : rule.error().text());
  return *std::move(rule);
}

Verdict report(StoppingRule& rule, std::uint32_t trial, std::int64_t epoch, double value) {
  rule.observe(study::Measured{{TrialId{trial}, epoch, epoch, {{"m", value}}}});
  return rule.verdict(TrialId{trial});
}

TEST(GeometricRungs, CountExactPowersThatLogarithmsMiss) {
  EXPECT_EQ(geometric_rungs(1, 3, 243), (std::vector<std::int64_t>{1, 3, 9, 27, 81, 243}));
  EXPECT_EQ(geometric_rungs(1, 10, 1000), (std::vector<std::int64_t>{1, 10, 100, 1000}));
  EXPECT_EQ(geometric_rungs(1, 10, 100), (std::vector<std::int64_t>{1, 10, 100}));
  EXPECT_EQ(geometric_rungs(1, 3, 81).size(), 5U);
}

TEST(GeometricRungs, EndAtTheMaximumAndIncreaseStrictly) {
  EXPECT_EQ(geometric_rungs(1, 3, 100), (std::vector<std::int64_t>{1, 3, 9, 27, 81, 100}));
  EXPECT_EQ(geometric_rungs(5, 2, 5), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(geometric_rungs(2, 2, 3), (std::vector<std::int64_t>{2, 3}));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const auto rungs = geometric_rungs(1, 10, huge);
  EXPECT_EQ(rungs.size(), 20U);
  EXPECT_TRUE(std::is_sorted(rungs.begin(), rungs.end()));
}

TEST(Asha, LetsTheFirstAtARungGoOn) {
  auto rule = make_rule({{"rungs", {1, 3}}});
  EXPECT_EQ(report(*rule, 1, 1, -5), Verdict::kContinue);
}

TEST(Asha, CountsTheNewValueAmongTheBestFloorOfNOverEta) {
  // History {2, 4}, maximise, eta 2, new value 3: floor(3 / 2) = 1, and 4 is better.
  auto rule = make_rule({{"rungs", {1}}, {"eta", 2}});
  EXPECT_EQ(report(*rule, 1, 1, 2), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 2, 1, 4), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 3, 1, 3), Verdict::kStop);
  EXPECT_EQ(report(*rule, 4, 1, 3.5), Verdict::kContinue);  // 2nd of 4
}

TEST(Asha, AgreesWithCountingForRandomHistories) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const std::int64_t eta = rng.between(2, 4);
    auto rule = make_rule({{"rungs", {1}}, {"eta", eta}}, 9, false);
    std::vector<double> seen;
    for (std::uint32_t trial = 1; trial <= 200; ++trial) {
      const double value = static_cast<double>(rng.below(40));  // many ties
      std::int64_t rank = 1;
      for (const double other : seen) rank += other <= value ? 1 : 0;  // the earlier wins a tie
      seen.push_back(value);
      const auto room = std::max<std::int64_t>(1, static_cast<std::int64_t>(seen.size()) / eta);
      EXPECT_EQ(report(*rule, trial, 1, value), rank <= room ? Verdict::kContinue : Verdict::kStop);
    }
  }
}

TEST(Asha, TakesNotANumberAndAMissingMetricAsWorst) {
  auto rule = make_rule({{"rungs", {1}}, {"eta", 2}});
  EXPECT_EQ(report(*rule, 1, 1, std::numeric_limits<double>::quiet_NaN()), Verdict::kContinue);  // alone
  EXPECT_EQ(report(*rule, 2, 1, -std::numeric_limits<double>::infinity()), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 3, 1, std::numeric_limits<double>::quiet_NaN()), Verdict::kStop);
  rule->observe(study::Measured{{TrialId{4}, 1, 1, {}}});
  EXPECT_EQ(rule->verdict(TrialId{4}), Verdict::kStop);
}

TEST(Asha, BringsTheBestTrialToTheTopInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    auto rule = make_rule({{"min", 1}, {"eta", 3}}, 81);
    const auto order = Rng(seed).permutation(81);
    for (const std::uint32_t quality : order) {
      bool alive = true;
      for (const std::int64_t rung : {1, 3, 9, 27}) {
        alive = alive && report(*rule, quality + 1, rung, quality) == Verdict::kContinue;
      }
      if (quality == 80) {
        EXPECT_TRUE(alive) << seed;
      }
    }
  }
}

TEST(Asha, DecidesAtRungsAloneAndForgetsEndedTrials) {
  auto rule = make_rule({{"rungs", {1, 3, 9}}, {"eta", 3}});
  report(*rule, 1, 1, 5);
  EXPECT_EQ(report(*rule, 2, 1, 4), Verdict::kStop);
  rule->observe(study::Ended{TrialId{2}, {}});
  EXPECT_EQ(rule->verdict(TrialId{2}), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 3, 2, -9), Verdict::kContinue);
  EXPECT_EQ(rule->verdict(TrialId{77}), Verdict::kContinue);
  EXPECT_EQ(rule->next_decision(TrialId{1}, 0, 9), 1);
  EXPECT_EQ(rule->next_decision(TrialId{1}, 1, 9), 3);
  EXPECT_EQ(rule->next_decision(TrialId{1}, 3, 9), 9);
  EXPECT_EQ(rule->next_decision(TrialId{1}, 3, 5), 5);
}

TEST(Asha, RefusesRungsThatMakeNoSense) {
  const StoppingPlugin plugin = asha_plugin();
  const std::vector<std::pair<nlohmann::json, std::string>> cases{
      {{{"rungs", {3, 3}}}, "rungs"}, {{{"rungs", {9, 1}}}, "rungs"}, {{{"min", 20}}, "min"}};
  for (const auto& [options, where] : cases) {
    const auto resolved = resolve_options(options, plugin.options);
    ASSERT_TRUE(resolved.ok());
    const auto rule = plugin.make({{true, "m"}}, 9, *resolved);
    ASSERT_FALSE(rule.ok()) << options;
    EXPECT_EQ(rule.error().code, Code::kInvalidArgument);
    EXPECT_EQ(rule.error().where, where);
  }
  EXPECT_FALSE(resolve_options({{"eta", 1}}, plugin.options).ok());
}

}  // namespace
}  // namespace lanista::strategy
