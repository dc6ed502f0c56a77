#include "lanista/search/sampler/constraint_filter.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/model/graph/infer.h"
#include "lanista/search/sampler/history.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using namespace testing;

Context constrained(std::uint64_t seed, const std::vector<std::string>& texts) {
  Context context = small_context(seed);
  for (const std::string& text : texts) context.constraints.push_back(must(study::Constraint::parse(text)));
  return context;
}

double parameters(const Context& context, const study::Proposal& proposal) {
  const auto model = must(context.models->rebuild(proposal.base, proposal.edits));
  return static_cast<double>(must(graph::model_cost(model, context.models->ops())).parameters);
}

/// The model to which mutations are applied.
double base_parameters() {
  const Context context = small_context(1, false);
  return parameters(context, must(make(random_plugin(), context)->suggest({1})).proposals().at(0));
}

class EveryStrategyUnderConstraints : public testing::SamplerTest {};

TEST_P(EveryStrategyUnderConstraints, ProposesOnlyFeasibleTrialsAndReplays) {
  const Context context = constrained(3, {"momentum <= lr * 4", "params + 0 <= " + std::to_string(base_parameters())});
  const nlohmann::json options = GetParam() == "grid" ? nlohmann::json{{"grain", 8}} : Options::object();
  auto strategy = make(plugin(), context, options);
  auto replayed = make(plugin(), context, options);
  int seen = 0;
  for (const study::Event& event : play(*strategy, 25, Rng(9))) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const space::Sample& sample = proposed->proposal.sample;
      if (sample.contains("momentum")) {
        EXPECT_LE(std::get<double>(sample.at("momentum")), std::get<double>(sample.at("lr")) * 4);
      }
      EXPECT_LE(parameters(context, proposed->proposal), base_parameters());
      const auto again = must(replayed->suggest({1}));
      EXPECT_EQ(study::proposal_json(again.proposals().at(0)), study::proposal_json(proposed->proposal));
      ++seen;
    }
    replayed->observe(event);
  }
  EXPECT_EQ(seen, 25);
}

TEST_P(EveryStrategyUnderConstraints, ProposesInfeasibleTrialsWithoutConstraints) {
  const Context context = small_context(3);
  auto strategy = make(plugin(), context, GetParam() == "grid" ? nlohmann::json{{"grain", 8}} : Options::object());
  int wild = 0, large = 0;
  for (const study::Event& event : play(*strategy, 25, Rng(9))) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    const space::Sample& sample = proposed->proposal.sample;
    const auto momentum = sample.find("momentum");
    wild += momentum != sample.end() && std::get<double>(momentum->second) > std::get<double>(sample.at("lr")) * 4;
    large += parameters(context, proposed->proposal) > base_parameters() ? 1 : 0;
  }
  EXPECT_GT(wild, 0);
  EXPECT_EQ(large > 0, GetParam() != "grid");  // The grid mutates nothing.
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryStrategyUnderConstraints, ::testing::ValuesIn(testing::sampler_names()),
                         [](const auto& instance) { return instance.param; });

TEST(ConstraintFilter, ReportsAttemptsAndRejectionReason) {
  Context context = constrained(1, {"lr >= 2"});
  context.models = small_context(1, false).models;
  auto strategy = make(random_plugin(), context);
  const auto group = strategy->suggest({1});
  ASSERT_FALSE(group.ok());
  EXPECT_EQ(group.error().code, Code::kResourceExhausted);
  EXPECT_EQ(group.error().message, "bad luck: 10000 samples gave nothing new (10000 of them: breaks 'lr >= 2')");
}

/// Returns the share of the later half of 80 trials that meets a bound. A tenth of the space meets it, and the optimum
/// of the goal breaks it.
double kept(const StrategyPlugin& plugin, const nlohmann::json& options, std::uint64_t seed) {
  Context context = small_context(seed, false);
  context.params = {};
  for (const char* name : {"lr", "momentum"}) {
    LANISTA_CHECK(context.params.add({name, space::FloatRange{0, 1, 0, false}, {}}).ok(), "the test's own space");
  }
  context.goals = {{false, "val_loss"}};
  context.constraints = {must(study::Constraint::parse("val_cost <= 0.1"))};
  auto strategy = make(plugin, context, options);
  int good = 0;
  for (std::uint32_t id = 1; id <= 80; ++id) {
    const study::Proposal proposal = must(strategy->suggest({1})).proposals().at(0);
    const double x = std::get<double>(proposal.sample.at("lr"));
    good += id > 40 && x <= 0.1 ? 1 : 0;
    testing::feed_trial(*strategy, id, proposal, {{"val_loss", 1 - x}, {"val_cost", x}});
  }
  return good / 40.0;
}

TEST(MeasuredConstraints, MoveSearchTowardsFeasibleTrials) {
  const nlohmann::json few{{"population", 10}}, defaults = Options::object();
  const auto share = [](const StrategyPlugin& plugin, const nlohmann::json& options) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) sum += kept(plugin, options, seed) / 10;
    return sum;
  };
  const double random = share(random_plugin(), defaults);
  EXPECT_GT(share(evolution_plugin(), few), 2 * random);
  EXPECT_GT(share(nsga2_plugin(), few), 2 * random);
  for (const StrategyPlugin& plugin : {tpe_plugin(), local_search_plugin(), cmaes_plugin()}) {
    EXPECT_GT(share(plugin, defaults), 2 * random) << plugin.name;
  }
}

TEST(MeasuredConstraints, AddViolationToObservation) {
  Context context = constrained(1, {"val_loss <= 1", "lr <= 1", "momentum + val_loss <= 1"});
  History history(context);
  const auto observed = [&](std::uint32_t id, std::map<std::string, double> metrics) {
    study::Proposal proposal;
    proposal.sample = {{"lr", 0.1}};
    history.observe(study::Proposed{TrialId{id}, proposal});
    history.observe(study::Measured{{TrialId{id}, 1, 1, std::move(metrics)}});
    return history.observe(study::Ended{TrialId{id}, {}})->violation;
  };
  EXPECT_EQ(observed(1, {{"val_loss", 0.5}}), 0);
  EXPECT_EQ(observed(2, {{"val_loss", 2}}), 0.5);  // The first constraint alone: this trial has no momentum.
  EXPECT_EQ(observed(3, {{"val_loss", NAN}}), HUGE_VAL);
  EXPECT_EQ(observed(4, {}), HUGE_VAL);
}

TEST(MeasuredConstraints, RankInfeasibleTrialsLast) {
  EXPECT_EQ(study::non_dominated_ranks({{1, 1}, {0, 0}, {2, 2}, {}, {-1, -1}}, {0, 0.5, 0, 0, 0.2}),
            (std::vector<std::int64_t>{0, 3, 1, 4, 2}));
  EXPECT_EQ(study::non_dominated_ranks({{1}, {0}}, {0.1, 0.2}), (std::vector<std::int64_t>{0, 1}));
}

}  // namespace
}  // namespace lanista::search
