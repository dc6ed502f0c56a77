// What every strategy promises, run over all that are registered: a new one is tested by being registered.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "lanista/strategy/test_support.h"

namespace lanista::strategy {
namespace {

using testing::blueprint_context;
using testing::make;
using testing::play;
using testing::small_context;
using testing::text_of;

constexpr std::int64_t kTrials = 40;

/// Strategies over base models, and the same over a blueprint.
class EveryStrategy : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  bool over_blueprint() const { return std::get<1>(GetParam()); }
  Context context_for(std::uint64_t seed) const {
    return over_blueprint() ? blueprint_context(seed) : small_context(seed);
  }
  StrategyPlugin plugin() const {
    for (StrategyPlugin& plugin : all_) {
      if (plugin.name == name()) return plugin;
    }
    return {};
  }

 private:
  mutable std::vector<StrategyPlugin> all_ = builtin_strategies();
};

TEST_P(EveryStrategy, HasTheNameItIsRegisteredUnder) {
  EXPECT_EQ(make(plugin(), context_for(1))->name(), name());
  EXPECT_FALSE(plugin().help.empty());
}

TEST_P(EveryStrategy, AnswersTheSameUntilItObservesSomething) {
  auto strategy = make(plugin(), context_for(1));
  play(*strategy, 12, Rng(5));
  for (const std::int64_t slots : {1, 3}) {
    const auto first = strategy->suggest({slots});
    const auto second = strategy->suggest({slots});
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(text_of(*first), text_of(*second));
    EXPECT_LE(static_cast<std::int64_t>(first->proposals.size()), slots);
  }
}

TEST_P(EveryStrategy, IsRebuiltByReplayingItsEventsAtAnyPoint) {
  auto strategy = make(plugin(), context_for(3));
  const auto events = play(*strategy, kTrials, Rng(9));
  auto replayed = make(plugin(), context_for(3));
  for (const study::Event& event : events) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const auto group = replayed->suggest({1});
      ASSERT_TRUE(group.ok());
      ASSERT_FALSE(group->proposals.empty());
      EXPECT_EQ(study::proposal_json(group->proposals[0]), study::proposal_json(proposed->proposal));
    }
    replayed->observe(event);
  }
  EXPECT_EQ(text_of(*replayed->suggest({2})), text_of(*strategy->suggest({2})));
}

TEST_P(EveryStrategy, ProposesForAllSlotsWhatItWouldProposeOneByOne) {
  auto together = make(plugin(), context_for(4));
  auto one_by_one = make(plugin(), context_for(4));
  const auto group = together->suggest({5});
  ASSERT_TRUE(group.ok());
  ASSERT_EQ(group->proposals.size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const auto one = one_by_one->suggest({1});
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(study::proposal_json(one->proposals.at(0)), study::proposal_json(group->proposals[i]));
    one_by_one->observe(study::Proposed{TrialId{i + 1}, one->proposals[0]});
  }
}

TEST_P(EveryStrategy, NeverProposesTheSameTwiceAndKeepsToTheSpace) {
  const Context context = context_for(6);
  auto strategy = make(plugin(), context);
  std::set<Digest> keys;
  for (const study::Event& event : play(*strategy, kTrials, Rng(2))) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    const study::Proposal& proposal = proposed->proposal;
    EXPECT_TRUE(keys.insert(study::duplicate_key(proposal)).second);
    EXPECT_EQ(proposal.budget, context.epochs);
    EXPECT_TRUE(context.params.check(proposal.sample).ok());
    const auto graph = context.models->rebuild(proposal.base, proposal.edits);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph::canonical_hash(*graph, context.models->ops()), proposal.graph_hash);
    EXPECT_EQ(context.models->base(proposal.base).hash, proposal.base_hash);
    // Over a blueprint the sample edits, too.
    EXPECT_TRUE(proposal.steps.empty() == proposal.edits.empty() || (over_blueprint() && proposal.steps.empty()));
  }
  EXPECT_GT(keys.size(), 10U);
}

TEST_P(EveryStrategy, DiffersFromSeedToSeedUnlessItIsAnEnumeration) {
  const auto first = make(plugin(), context_for(1))->suggest({3});
  const auto second = make(plugin(), context_for(2))->suggest({3});
  EXPECT_EQ(text_of(*first) == text_of(*second), name() == "grid");
}

TEST_P(EveryStrategy, ContinuesTrialsItDoesNotKnowAndForwardsTheRulesVerdicts) {
  auto strategy = make(plugin(), context_for(1));
  EXPECT_EQ(strategy->verdict(TrialId{99}), study::Verdict::kContinue);
  EXPECT_EQ(strategy->next_decision(TrialId{1}, 0, 4), 1);
  EXPECT_EQ(strategy->next_decision(TrialId{1}, 2, 4), 4);
  strategy->observe(study::Measured{{TrialId{1}, 1, 1, {{"acc", 0.9}}}});
  strategy->observe(study::Measured{{TrialId{2}, 1, 1, {{"acc", 0.1}}}});
  EXPECT_EQ(strategy->verdict(TrialId{1}), study::Verdict::kContinue);
  EXPECT_EQ(strategy->verdict(TrialId{2}), study::Verdict::kStop);
}

TEST_P(EveryStrategy, SaysWhenNothingIsLeft) {
  Context context = small_context(1, false);
  context.params = {};
  const space::Domain two = space::Categorical{{space::Value(0.1), space::Value(0.2)}};
  ASSERT_TRUE(context.params.add({"lr", two, {}}).ok());
  auto strategy = make(plugin(), context);
  EXPECT_EQ(play(*strategy, 10, Rng(1)).empty(), false);
  const auto group = strategy->suggest({1});
  if (group) {
    EXPECT_TRUE(group->proposals.empty());
  } else {
    EXPECT_EQ(group.error().code, Code::kResourceExhausted);
    EXPECT_NE(group.error().message.find("space exhausted"), std::string::npos);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const StrategyPlugin& plugin : builtin_strategies()) out.push_back(plugin.name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Builtin, EveryStrategy, ::testing::Combine(::testing::ValuesIn(names()), ::testing::Bool()),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + (std::get<1>(instance.param) ? "_blueprint" : "");
                         });

}  // namespace
}  // namespace lanista::strategy
