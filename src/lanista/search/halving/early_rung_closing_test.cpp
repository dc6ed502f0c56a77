// Early rung closing, compared with brute force over the results that pending trials may still have.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "lanista/base/rng.h"
#include "support/search/halving/synchronous_test_support.h"

namespace lanista::search {
namespace {

using testing::must;

constexpr const char* kGoal = "val_accuracy";

/// Returns the best trials of a rung by accuracy, then by number.
std::set<std::uint32_t> best_of(const std::map<std::uint32_t, double>& results, std::size_t places) {
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [trial, accuracy] : results) order.emplace_back(-accuracy, trial);
  std::ranges::sort(order);
  std::set<std::uint32_t> out;
  for (std::size_t i = 0; i < std::min(places, order.size()); ++i) out.insert(order[i].second);
  return out;
}

class EarlyRungClosing : public ::testing::Test {
 protected:
  void begin(std::uint32_t trials, std::int64_t eta) {
    Context context = testing::halved_context(1, eta);
    context.goals = {{true, kGoal}};
    rule = must(testing::rule_of(successive_halving_plugin(), context,
                                 {{"trials", trials}, {"eta", eta}, {"rungs", {1}}, {"cycles", 1}}));
    for (std::uint32_t id = 1; id <= trials; ++id) {
      std::vector<study::Proposal> fresh(1);
      fresh[0].budget = eta;
      rule->assign_budgets(fresh);
      rule->observe(study::Proposed{TrialId{id}, fresh[0]});
      training.insert(id);
    }
  }
  void arrive(std::uint32_t id, double accuracy) {
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{kGoal, accuracy}}}});
    rule->observe(study::Paused{TrialId{id}, 1});
    training.erase(id);
    arrived[id] = accuracy;
  }

  std::unique_ptr<Halving> rule;
  std::set<std::uint32_t> training;
  std::map<std::uint32_t, double> arrived;
};

// A trial is closed out exactly if no result of the others could promote it.
TEST_F(EarlyRungClosing, ClosesExactlyForTrialsThatCannotAdvance) {
  Rng rng(8);
  std::int64_t decided = 0, open = 0;
  for (int round = 0; round < 300; ++round) {
    training.clear(), arrived.clear();
    const auto trials = static_cast<std::uint32_t>(rng.between(4, 9));
    const std::int64_t eta = rng.between(2, 3);
    const auto places = static_cast<std::size_t>(trials) / static_cast<std::size_t>(eta);
    begin(trials, eta);
    while (training.size() > 1) {
      auto next = training.begin();
      std::advance(next, rng.below(static_cast<std::uint32_t>(training.size())));
      arrive(*next, rng.below(2) == 0 ? 1.0 : 0.5);
      for (const std::uint32_t id : training) {
        bool may_be_promoted = false;
        for (std::uint32_t others = 0; others < 1U << training.size(); ++others) {
          std::map<std::uint32_t, double> then = arrived;
          std::uint32_t k = 0;
          for (const std::uint32_t each : training) then[each] = (others >> k++ & 1U) != 0 ? 1.0 : 0.25;
          may_be_promoted = may_be_promoted || best_of(then, places).contains(id);
        }
        const auto by = rule->verdict(TrialId{id}).closed_early_by;
        ASSERT_EQ(by.has_value(), !may_be_promoted) << "round " << round << ", trial " << id;
        (by ? decided : open) += 1;
        EXPECT_TRUE(!by || best_of(arrived, places).contains(by->value));
      }
    }
  }
  EXPECT_GT(decided, 200);
  EXPECT_GT(open, 200);
}

TEST_F(EarlyRungClosing, NeverClosesForUnboundedMetric) {
  Context context = testing::halved_context(1, 2);  // "acc", a metric without a bound
  rule = must(testing::rule_of(successive_halving_plugin(), context, {{"trials", 4}, {"eta", 2}, {"rungs", {1}}}));
  for (std::uint32_t id = 1; id <= 4; ++id) {
    std::vector<study::Proposal> fresh(1);
    fresh[0].budget = 2;
    rule->assign_budgets(fresh);
    rule->observe(study::Proposed{TrialId{id}, fresh[0]});
  }
  for (std::uint32_t id = 1; id <= 2; ++id) {
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", 1.0}}}});
    rule->observe(study::Paused{TrialId{id}, 1});
  }
  EXPECT_FALSE(rule->verdict(TrialId{3}).closed_early_by.has_value());
}

// No trial is promoted from the last rung. It is closed by the first trial that ends there with the best possible
// result.
TEST_F(EarlyRungClosing, ClosesLastRungForRemainingTrials) {
  begin(4, 2);
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) arrive(id, id < 3 ? 0.9 : 0.5);
  for (const std::uint32_t id : {1U, 2U}) rule->observe(study::Resumed{TrialId{id}, 1, 2});
  EXPECT_FALSE(rule->verdict(TrialId{1}).closed_early_by.has_value());

  rule->observe(study::Measured{{TrialId{2}, 2, 2, {{kGoal, 1.0}}}});
  study::Outcome end;
  end.kind = study::OutcomeKind::kSucceeded;
  rule->observe(study::Ended{TrialId{2}, end});

  EXPECT_EQ(rule->verdict(TrialId{1}).closed_early_by, TrialId{2});
}

}  // namespace
}  // namespace lanista::search
