#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/search/sampler/builtin.h"

namespace lanista::search {
namespace {

using study::Verdict;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Result<std::unique_ptr<Halving>> make_rule(const nlohmann::json& options, std::vector<study::Goal> goals) {
  const StoppingPlugin plugin = patience_plugin();
  LANISTA_ASSIGN(const Options resolved, resolve_options(options, plugin.options));
  return plugin.make({std::move(goals), 99, {}}, resolved);
}

/// Returns the epoch at which a trial with these values ends, counted as in Keras; nullopt: it does not.
std::optional<std::int64_t> counted(const std::vector<double>& values, bool maximize, std::int64_t patience,
                                    double min_delta, std::int64_t least) {
  double best = maximize ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  bool any = false;
  std::int64_t wait = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    ++wait;
    const bool better = maximize ? value > best + min_delta : value < best - min_delta;
    if (std::isfinite(value) && (!any || better)) {
      any = true;
      best = value;
      wait = 0;
    }
    const auto epoch = static_cast<std::int64_t>(i) + 1;
    if (wait >= patience && epoch >= least) return epoch;
  }
  return std::nullopt;
}

TEST(Patience, MatchesCountingAndNeverEndsEarly) {
  std::size_t ended = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const bool maximize = rng.bernoulli(0.5);
    const std::int64_t patience = rng.between(1, 5), least = rng.between(1, 8);
    const double min_delta = static_cast<double>(rng.between(0, 3)) / 2;
    std::vector<double> values;
    for (int i = 0; i < 14; ++i)
      values.push_back(rng.bernoulli(0.15) ? kNaN : static_cast<double>(rng.between(0, 12)) / 2);
    const auto wanted = counted(values, maximize, patience, min_delta, least);
    auto rule = make_rule({{"epochs", patience}, {"min_delta", min_delta}, {"min", least}}, {{maximize, "val_loss"}});
    ASSERT_TRUE(rule) << rule.error().text();
    const TrialId trial{1}, other{2};

    (*rule)->observe(study::Proposed{trial, {}});
    std::int64_t epoch = 0;
    const std::int64_t last = wanted.value_or(14);
    for (const double value : values) {
      const TrialVerdict before = (*rule)->verdict(trial);
      ASSERT_EQ(before.verdict, Verdict::kContinue);
      ASSERT_GT(before.through, epoch);
      ASSERT_LE(before.through, wanted.value_or(before.through)) << "it does not run ahead beyond its end";
      ++epoch;
      (*rule)->observe(study::Measured{{other, epoch, epoch, {{"val_loss", 1.0}}}});
      (*rule)->observe(study::Measured{{trial, epoch, epoch, {{"val_loss", value}}}});
      if (epoch == last) break;
    }
    ASSERT_EQ((*rule)->verdict(trial).verdict, wanted ? Verdict::kStop : Verdict::kContinue);
    ended += wanted ? 1 : 0;
  }
  EXPECT_GT(ended, 5'000U);
}

TEST(Patience, UsesNamedMetric) {
  auto rule = *make_rule({{"epochs", 1}, {"on", "val_accuracy"}}, {{false, "val_loss"}});
  const auto report = [&](std::int64_t epoch, double loss, double accuracy) {
    rule->observe(study::Measured{{TrialId{1}, epoch, epoch, {{"val_loss", loss}, {"val_accuracy", accuracy}}}});
    return rule->verdict(TrialId{1}).verdict;
  };
  EXPECT_EQ(report(1, 1, 0.5), Verdict::kContinue);
  EXPECT_EQ(report(2, 9, 0.6), Verdict::kContinue) << "more accuracy is better";
  EXPECT_EQ(report(3, 0, 0.6), Verdict::kStop);
}

TEST(Patience, UsesFirstGoalMeasuredInTraining) {
  auto rule = *make_rule({{"epochs", 1}}, {{false, "params"}, {false, "val_loss"}});
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
    const double loss = epoch == 3 ? 5 : 5 - static_cast<double>(epoch);
    rule->observe(study::Measured{{TrialId{1}, epoch, epoch, {{"params", 7}, {"val_loss", loss}}}});
    EXPECT_EQ(rule->verdict(TrialId{1}).verdict, epoch == 3 ? Verdict::kStop : Verdict::kContinue) << epoch;
  }
  const auto refused = make_rule(nlohmann::json::object(), {{false, "params"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "patience needs a goal that is measured in training, or another metric");
  EXPECT_EQ(refused.error().where, "on");
}

TEST(Patience, ReportsAllowedOptions) {
  EXPECT_EQ(make_rule({{"epochs", 0}}, {{false, "val_loss"}}).error().where, "epochs");
  EXPECT_EQ(make_rule({{"min_delta", -1.0}}, {{false, "val_loss"}}).error().where, "min_delta");
  EXPECT_EQ(make_rule({{"min", 0}}, {{false, "val_loss"}}).error().where, "min");
}

TEST(Patience, DropsEndedTrials) {
  auto rule = *make_rule({{"epochs", 1}}, {{false, "val_loss"}});
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
    rule->observe(study::Measured{{TrialId{1}, epoch, epoch, {{"val_loss", 1.0}}}});
  }
  ASSERT_EQ(rule->verdict(TrialId{1}).verdict, Verdict::kStop);
  rule->observe(study::Ended{TrialId{1}, {}});
  EXPECT_EQ(rule->verdict(TrialId{1}).verdict, Verdict::kContinue);
}

}  // namespace
}  // namespace lanista::search
