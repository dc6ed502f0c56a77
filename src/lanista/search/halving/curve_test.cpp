#include <gtest/gtest.h>

#include <cmath>

#include "lanista/search/math/extrapolation.h"
#include "lanista/search/sampler/builtin.h"

namespace lanista::search {
namespace {

std::unique_ptr<Halving> curve_rule(const nlohmann::json& options) {
  const StoppingPlugin plugin = curve_plugin();
  auto rule = plugin.make({{{true, "val_accuracy"}}, 27, {}}, *resolve_options(options, plugin.options));
  LANISTA_CHECK(rule.ok(), rule ? "" : rule.error().text());
  return *std::move(rule);
}

/// Trains a trial with an accuracy that rises to `end`. Returns the epoch at which it is stopped, or 27.
std::int64_t train(Halving& rule, std::uint32_t id, double end, double rate) {
  study::Proposal proposal;
  proposal.budget = 27;
  rule.observe(study::Proposed{TrialId{id}, proposal});
  for (std::int64_t epoch = 1; epoch <= 27; ++epoch) {
    const double value = end - 0.5 * std::pow(static_cast<double>(epoch), -rate);
    rule.observe(study::Measured{{TrialId{id}, epoch, epoch, {{"val_accuracy", value}}}});
    if (rule.verdict(TrialId{id}).verdict != study::Verdict::kStop) continue;
    study::Outcome stopped;
    stopped.kind = study::OutcomeKind::kStopped;
    rule.observe(study::Ended{TrialId{id}, stopped});
    return epoch;
  }
  rule.observe(study::Ended{TrialId{id}, {}});
  return 27;
}

TEST(CurveRule, StopsOnlyTrialsThatCannotReachBest) {
  auto rule = curve_rule({{"startup", 2}});
  EXPECT_EQ(train(*rule, 1, 0.1, 1), 27);  // nothing to compare with
  EXPECT_EQ(train(*rule, 2, 0.9, 1), 27);
  EXPECT_EQ(train(*rule, 3, 0.6, 1), 4);
  EXPECT_EQ(train(*rule, 4, 0.95, 1), 27) << "it begins worse than trial 2 ended";
  EXPECT_EQ(train(*rule, 5, 1.0, 0.8), 27) << "it rises slowly, but reaches the best";
  EXPECT_EQ(train(*rule, 6, 0.9, 1), 4) << "the best result is higher now";
}

TEST(CurveRule, ContinuesBeforeItsFirstEpoch) {
  auto rule = curve_rule({{"startup", 1}, {"min", 9}});
  train(*rule, 1, 0.9, 1);
  study::Proposal proposal;
  proposal.budget = 27;
  rule->observe(study::Proposed{TrialId{2}, proposal});
  EXPECT_EQ(rule->verdict(TrialId{2}).through, 9);
  EXPECT_EQ(train(*rule, 3, 0.3, 1), 9);
}

TEST(CurveRule, IgnoresNonFiniteCurves) {
  auto rule = curve_rule({{"startup", 1}});
  train(*rule, 1, 0.9, 1);
  study::Proposal proposal;
  proposal.budget = 27;
  rule->observe(study::Proposed{TrialId{2}, proposal});
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const double value = epoch == 2 ? std::nan("") : 0.01;
    rule->observe(study::Measured{{TrialId{2}, epoch, epoch, {{"val_accuracy", value}}}});
    EXPECT_EQ(rule->verdict(TrialId{2}).verdict, study::Verdict::kContinue);
  }
}

TEST(CurveRule, RejectsGoalsItCannotExtrapolate) {
  const StoppingPlugin plugin = curve_plugin();
  EXPECT_FALSE(plugin.make({{{false, "params"}}, 9, {}}, *resolve_options(Options::object(), plugin.options)));
  EXPECT_FALSE(resolve_options({{"min", 2}}, plugin.options));
  EXPECT_FALSE(resolve_options({{"chance", 1.5}}, plugin.options));
}

}  // namespace
}  // namespace lanista::search
