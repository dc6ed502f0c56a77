// Properties that every strategy has. The tests run over all registered strategies, so a new one is tested too.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::blueprint_context;
using testing::make;
using testing::play;
using testing::small_context;
using testing::text_of;

constexpr std::int64_t kTrials = 40;

/// Every strategy, over base models and over a blueprint.
class EveryStrategy : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  bool over_blueprint() const { return std::get<1>(GetParam()); }
  Context context_for(std::uint64_t seed) const {
    return over_blueprint() ? blueprint_context(seed) : small_context(seed);
  }
  StrategyPlugin plugin() const { return testing::sampler_named(name()); }
};

TEST_P(EveryStrategy, HasItsRegisteredName) {
  EXPECT_EQ(make(plugin(), context_for(1))->name(), name());
  EXPECT_FALSE(plugin().help.empty());
}

TEST_P(EveryStrategy, SuggestsTheSameUntilNextEvent) {
  auto strategy = make(plugin(), context_for(1));
  play(*strategy, 12, Rng(5));
  for (const std::int64_t slots : {1, 3}) {
    const auto first = strategy->suggest({slots});
    const auto second = strategy->suggest({slots});
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(text_of(*first), text_of(*second));
    EXPECT_LE(static_cast<std::int64_t>(first->proposals().size()), slots);
  }
}

/// Expects that new strategies with the events of `live` make its next proposals. One is asked at every point, where it
/// must propose what `live` proposed. The other is asked only at the end, as after a resume.
template <class Make>
void expect_rebuilt(const Strategy& live, const Make& make_another, const std::vector<study::Event>& events) {
  const auto asked = make_another(), resumed = make_another();
  for (const study::Event& event : events) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const auto group = asked->suggest({1});
      ASSERT_TRUE(group.ok());
      ASSERT_FALSE(group->proposals().empty());
      EXPECT_EQ(study::proposal_json(group->proposals()[0]), study::proposal_json(proposed->proposal));
    }
    asked->observe(event);
    resumed->observe(event);
  }
  const std::string next = text_of(*live.suggest({2}));
  EXPECT_EQ(text_of(*asked->suggest({2})), next);
  EXPECT_EQ(text_of(*resumed->suggest({2})), next);
}

TEST_P(EveryStrategy, ReplaysItsEventsFromAnyPoint) {
  auto strategy = make(plugin(), context_for(3));
  const auto events = play(*strategy, kTrials, Rng(9));
  expect_rebuilt(
      *strategy, [&] { return make(plugin(), context_for(3)); }, events);
}

TEST_P(EveryStrategy, ProposesGroupEqualToSingleProposals) {
  auto together = make(plugin(), context_for(4));
  auto one_by_one = make(plugin(), context_for(4));
  const auto group = together->suggest({5});
  ASSERT_TRUE(group.ok());
  ASSERT_EQ(group->proposals().size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const auto one = one_by_one->suggest({1});
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(study::proposal_json(one->proposals().at(0)), study::proposal_json(group->proposals()[i]));
    one_by_one->observe(study::Proposed{TrialId{i + 1}, one->proposals()[0]});
  }
}

TEST_P(EveryStrategy, ProposesUniqueTrialsInsideTheSpace) {
  const Context context = context_for(6);
  auto strategy = make(plugin(), context);
  std::set<Digest> keys;
  for (const study::Event& event : play(*strategy, kTrials, Rng(2))) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    const study::Proposal& proposal = proposed->proposal;
    EXPECT_TRUE(keys.insert(study::run_key(proposal)).second);
    EXPECT_EQ(study::full_epochs(proposal), context.epochs);
    if (!plugin().has_own_halving) {
      EXPECT_EQ(proposal.budget, context.epochs);
    }
    EXPECT_TRUE(context.params.check(proposal.sample).ok());
    const auto graph = context.models->rebuild(proposal.base, proposal.edits);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph::canonical_hash(*graph, context.models->ops()), proposal.graph_hash);
    EXPECT_EQ(context.models->base(proposal.base).hash, proposal.base_hash);
    // Over a blueprint the sample edits the model as well.
    EXPECT_TRUE(proposal.steps.empty() == proposal.edits.empty() || (over_blueprint() && proposal.steps.empty()));
  }
  EXPECT_GT(keys.size(), 10U);
}

TEST_P(EveryStrategy, DependsOnSeedUnlessItEnumerates) {
  const auto first = make(plugin(), context_for(1))->suggest({3});
  const auto second = make(plugin(), context_for(2))->suggest({3});
  EXPECT_EQ(text_of(*first) == text_of(*second), name() == "grid");
}

TEST_P(EveryStrategy, ContinuesUnknownTrialsAndForwardsVerdicts) {
  if (plugin().has_own_halving) GTEST_SKIP() << "it has a halving of its own";
  auto strategy = make(plugin(), context_for(1));
  EXPECT_EQ(strategy->verdict(TrialId{99}).verdict, study::Verdict::kContinue);
  EXPECT_EQ(strategy->verdict(TrialId{1}).through, 1);
  strategy->observe(study::Measured{{TrialId{1}, 1, 1, {{"acc", 0.9}}}});
  strategy->observe(study::Measured{{TrialId{2}, 1, 1, {{"acc", 0.1}}}});
  EXPECT_EQ(strategy->verdict(TrialId{1}).verdict, study::Verdict::kContinue);
  EXPECT_EQ(strategy->verdict(TrialId{1}).through, 2);
  EXPECT_EQ(strategy->verdict(TrialId{2}).verdict, study::Verdict::kStop);
  strategy->observe(study::Measured{{TrialId{1}, 2, 2, {{"acc", 0.9}}}});
  EXPECT_GE(strategy->verdict(TrialId{1}).through, 4);
}

/// Returns a space of 2 x (3 + 2 x 4) samples with one parameter of each kind of domain.
Context finite_context() {
  Context context = small_context(1, false);
  context.params = {};
  const auto add = [&](space::Parameter parameter) {
    LANISTA_CHECK(context.params.add(std::move(parameter)).ok(), "the test's own space");
  };
  const space::Value sgd(std::string("sgd")), adam(std::string("adam"));
  add({"nesterov", space::Categorical{{space::Value(true), space::Value(false)}}, {}});
  add({"optimizer", space::Categorical{{sgd, adam}}, {}});
  add({"lr", space::FloatRange{0.1, 0.3, 0.1, false}, {{"optimizer", {sgd}}}});
  add({"clip_norm", space::IntRange{1, 8, 7, true}, {{"optimizer", {adam}}}});
  add({"warmup_epochs", space::IntRange{0, 3, 1, false}, {{"optimizer", {adam}}}});
  return context;
}

TEST_P(EveryStrategy, ProposesFiniteSpaceOnceThenReportsExhausted) {
  const Context context = finite_context();
  ASSERT_EQ(context.params.size(), 22);
  auto strategy = make(plugin(), context);
  std::set<std::string> samples;
  for (const study::Event& event : play(*strategy, 100, Rng(1))) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    EXPECT_TRUE(samples.insert(space::sample_json(proposed->proposal.sample).dump()).second);
  }
  EXPECT_EQ(samples.size(), 22U);
  const auto group = strategy->suggest({1});
  ASSERT_TRUE(group.ok()) << group.error().text();
  EXPECT_EQ(group->kind, Suggestion::Kind::kSpaceExhausted);
}

TEST_P(EveryStrategy, ProposesAllFeasiblePointsOfFiniteSpace) {
  Context context = finite_context();
  context.constraints = {testing::must(study::Constraint::parse("lr >= 0.25")),
                         testing::must(study::Constraint::parse("warmup_epochs >= 3"))};
  auto strategy = make(plugin(), context);
  const auto together = strategy->suggest({100});
  ASSERT_TRUE(together.ok()) << together.error().text();
  EXPECT_EQ(together->proposals().size(), 6U);  // 2 x (1 + 2)
}

/// Returns options with which 60 trials are fast, and with which a grid has enough points.
nlohmann::json quick(const std::string& name) {
  if (name == "grid") return {{"grain", 64}};
  if (name == "gp") return {{"refit", 20}, {"candidates", 64}, {"fantasies", 4}};
  return Options::object();
}

/// Returns a space of two numbers, of which one must be in the given part of its range.
Context narrow_context(double part, bool mutators) {
  Context context = small_context(11, mutators);
  context.params = {};
  for (const char* name : {"lr", "momentum"}) {
    LANISTA_CHECK(context.params.add({name, space::FloatRange{0, 1, 0, false}, {}}).ok(), "the test's own space");
  }
  context.constraints = {testing::must(study::Constraint::parse("lr <= " + std::to_string(part)))};
  return context;
}

TEST_P(EveryStrategy, FillsGroupDespiteRejectedSamples) {
  for (const double refused : {0.5, 0.7, 0.95, 0.995}) {
    auto strategy = make(plugin(), narrow_context(1 - refused, !over_blueprint()), quick(name()));
    const auto events = play(*strategy, 60, Rng(3));
    std::int64_t proposed = 0;
    for (const study::Event& event : events) proposed += std::holds_alternative<study::Proposed>(event) ? 1 : 0;
    EXPECT_EQ(proposed, 60) << refused;
  }
}

/// Plays with `running` trials at any time. A random one measures next, and it may fail.
std::vector<study::Event> play_late(Strategy& strategy, std::uint32_t trials, std::size_t running, double p_fail,
                                    Rng rng) {
  struct Open {
    TrialId id;
    std::int64_t epoch = 0, budget = 0;
  };
  std::vector<study::Event> events;
  const auto feed_event = [&](study::Event event) {
    strategy.observe(event);
    events.push_back(std::move(event));
  };
  std::vector<Open> open;
  for (std::uint32_t id = 1; id <= trials || !open.empty();) {
    if (id <= trials && open.size() < running) {
      const auto group = strategy.suggest({1});
      LANISTA_CHECK(group.ok() && !group->proposals().empty(), "the space is large");
      feed_event(study::Proposed{TrialId{id}, group->proposals()[0]});
      open.push_back({TrialId{id++}, 0, group->proposals()[0].budget});
      continue;
    }
    const auto it = open.begin() + static_cast<std::ptrdiff_t>(rng.below(open.size()));
    study::Outcome outcome;
    bool ends = rng.bernoulli(p_fail);
    if (ends) {
      outcome.kind = rng.bernoulli(0.8) ? study::OutcomeKind::kFailed : study::OutcomeKind::kCancelled;
    } else {
      ++it->epoch;
      feed_event(study::Measured{{it->id, it->epoch, it->epoch, {{"acc", rng.uniform()}, {"loss", rng.uniform()}}}});
      const bool stops = strategy.verdict(it->id).verdict == study::Verdict::kStop;
      if (stops) outcome.kind = study::OutcomeKind::kStopped;
      ends = stops || it->epoch == it->budget;
    }
    if (!ends) continue;
    feed_event(study::Ended{it->id, outcome});
    open.erase(it);
  }
  return events;
}

TEST_P(EveryStrategy, ReplaysLateUnorderedAndFailedEvents) {
  for (const double p_fail : {0.0, 0.4, 1.0}) {
    const Context context = context_for(5);
    auto strategy = make(plugin(), context, quick(name()));
    const auto events = play_late(*strategy, 36, 7, p_fail, Rng(21));
    expect_rebuilt(
        *strategy, [&] { return make(plugin(), context, quick(name())); }, events);
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryStrategy,
                         ::testing::Combine(::testing::ValuesIn(testing::sampler_names()), ::testing::Bool()),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + (std::get<1>(instance.param) ? "_blueprint" : "");
                         });

}  // namespace
}  // namespace lanista::search
