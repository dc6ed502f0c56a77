#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lanista/base/portable_math.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/search/sampler/builtin.h"

namespace lanista::search::testing {

/// Returns the value. Aborts on an error.
template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}

/// Returns a space of one small base and two mutators or none, with sgd (lr and momentum) or adam (lr).
inline Context small_context(std::uint64_t seed, bool mutators = true) {
  std::vector<std::shared_ptr<const mutate::Mutator>> all;
  if (mutators) {
    for (const mutate::MutatorPlugin& plugin : mutate::builtin_mutators()) {
      if (plugin.name != "widen" && plugin.name != "deepen") continue;
      all.push_back(must(plugin.make(must(resolve_options(Options::object(), plugin.options)))));
    }
  }
  std::vector<mutate::BaseModel> bases{must(mutate::builtin_base("small-mlp", {{6}}, 3))};
  space::SearchSpace params;
  const auto add = [&](space::Parameter parameter) {
    LANISTA_CHECK(params.add(std::move(parameter)).ok(), "the test's own space");
  };
  add({"optimizer", space::Categorical{{space::Value(std::string("sgd")), space::Value(std::string("adam"))}}, {}});
  const std::vector<space::Parameter::Condition> sgd{{"optimizer", {space::Value(std::string("sgd"))}}};
  const std::vector<space::Parameter::Condition> adam{{"optimizer", {space::Value(std::string("adam"))}}};
  add({"lr", space::FloatRange{0.01, 0.5, 0, true}, sgd});
  add({"momentum", space::FloatRange{0, 0.9, 0, false}, sgd});
  add({"lr", space::FloatRange{0.0001, 0.01, 0, true}, adam});
  return {std::make_shared<const mutate::ModelSpace>(
              must(mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), std::move(all), {}, {}))),
          std::move(params),
          {{true, "acc"}, {false, "loss"}},
          4,
          Rng(seed)};
}

/// Returns small_context with one goal, without mutators, and with parameters x0, x1, ... in [0, 1].
inline Context unit_cube(std::uint64_t seed, std::size_t dimension, std::int64_t epochs = 4) {
  Context context = small_context(seed, false);
  context.params = {};
  context.goals = {{false, "loss"}};
  context.epochs = epochs;
  for (std::size_t k = 0; k < dimension; ++k) {
    const std::string name = "x" + std::to_string(k);
    LANISTA_CHECK(context.params.add({name, space::FloatRange{0, 1, 0, false}, {}}).ok(), "the test's own space");
  }
  return context;
}

/// Returns the hyper-parameters of small_context over a blueprint with nested choices. Some samples make no model.
inline Context blueprint_context(std::uint64_t seed) {
  using namespace mutate;
  const Chain layers{
      layer("linear", {{"out", pick("width", {4, 8, 16})}}),
      choice("act", {{"relu", {layer("relu")}},
                     {"gelu", {layer("gelu"), layer("linear", {{"out", formula("width // divisor")}})}}}),
      repeat("depth", space::IntRange{0, 2, 1, false},
             {parallel({{layer("linear", {{"out", pick("inner", {4, 6})}})}, {}}), layer("relu")}),
      layer("linear", {{"out", formula("outputs if width != 16 or depth < 2 else 2")}})};
  const graph::OpTable ops = graph::builtin_ops();
  Context context = small_context(seed);
  std::vector<std::shared_ptr<const Mutator>> mutators;
  for (const MutatorPlugin& plugin : builtin_mutators()) {
    if (plugin.name != "widen" && plugin.name != "deepen") continue;
    mutators.push_back(must(plugin.make(must(resolve_options(Options::object(), plugin.options)))));
  }
  BlueprintSpace space{"toy", must(Blueprint::make(ops, layers, {pick("divisor", {1, 2, 32})})),
                       model_interface({{6}}, 3)};
  context.models = std::make_shared<const ModelSpace>(
      must(ModelSpace::make(ops, std::move(space), std::nullopt, std::move(mutators), {}, {})));
  for (const space::Parameter& parameter : context.models->parameters()) {
    LANISTA_CHECK(context.params.add(parameter).ok(), "the test's own space");
  }
  return context;
}

/// Returns the built-in sampler with this name.
inline StrategyPlugin sampler_named(const std::string& name) {
  const std::vector<StrategyPlugin> all = builtin_strategies();
  return *std::ranges::find(all, name, &StrategyPlugin::name);
}

/// Returns the names of all built-in samplers.
inline std::vector<std::string> sampler_names() {
  std::vector<std::string> names;
  for (const StrategyPlugin& plugin : builtin_strategies()) names.push_back(plugin.name);
  return names;
}

/// Returns the names of the samplers without a halving of their own.
inline std::vector<std::string> plain_sampler_names() {
  std::vector<std::string> names = sampler_names();
  std::erase_if(names, [](const std::string& name) { return sampler_named(name).has_own_halving; });
  return names;
}

/// A test of one built-in sampler; the parameter is its name.
class SamplerTest : public ::testing::TestWithParam<std::string> {
 protected:
  StrategyPlugin plugin() const { return sampler_named(GetParam()); }
};

/// Feeds a trial to a strategy or a sampler: it ends with these metrics at epoch 4.
template <class Learner>
void feed_trial(Learner& learner, std::uint32_t id, const study::Proposal& proposal,
                const std::map<std::string, double>& metrics) {
  learner.observe(study::Proposed{TrialId{id}, proposal});
  learner.observe(study::Measured{{TrialId{id}, 4, 4, metrics}});
  learner.observe(study::Ended{TrialId{id}, {}});
}

/// Returns asha with rungs at epochs 1 and 2.
inline std::unique_ptr<Halving> small_rule(const Context& context) {
  const StoppingPlugin plugin = asha_plugin();
  return must(plugin.make({context.goals, context.epochs, context.constraints},
                          must(resolve_options({{"rungs", {1, 2}}, {"eta", 2}}, plugin.options))));
}

/// Returns the strategy of a plug-in. A population without a given size takes all proposals of a test.
inline std::unique_ptr<Strategy> make(const StrategyPlugin& plugin, const Context& context,
                                      nlohmann::json options = Options::object()) {
  if (plugin.forks && !options.contains("population")) options["population"] = 1000;
  auto sampler = must(plugin.make(context, must(resolve_options(options, plugin.options))));
  auto rule = plugin.has_own_halving ? sampler->own_halving() : small_rule(context);
  return compose(std::move(sampler), std::move(rule));
}

/// Runs trials as an engine does and returns the events. Proposals come from the strategy and results from `rng`. Some
/// trials fail.
inline std::vector<study::Event> play(Strategy& strategy, std::int64_t trials, Rng rng) {
  std::vector<study::Event> events;
  const auto feed_event = [&](study::Event event) {
    strategy.observe(event);
    events.push_back(std::move(event));
  };
  for (std::uint32_t id = 1; id <= trials; ++id) {
    auto group = strategy.suggest({1});
    if (!group || group->proposals().empty()) break;
    const std::int64_t budget = group->proposals()[0].budget;
    feed_event(study::Proposed{TrialId{id}, group->proposals()[0]});
    study::Outcome outcome;
    if (rng.bernoulli(0.15)) outcome.kind = study::OutcomeKind::kFailed;
    for (std::int64_t epoch = 1; epoch <= budget; ++epoch) {
      feed_event(study::Measured{{TrialId{id}, epoch, epoch, {{"acc", rng.uniform()}, {"loss", rng.uniform()}}}});
      if (strategy.verdict(TrialId{id}).verdict != study::Verdict::kStop) continue;
      outcome.kind = study::OutcomeKind::kStopped;
      break;
    }
    feed_event(study::Ended{TrialId{id}, outcome});
  }
  return events;
}

/// Returns a smooth loss over the parameters of small_context. The best is 0, for sgd with learning rate 0.1 and
/// momentum 0.5. Adam reaches 0.3.
inline double toy_loss(const space::Sample& sample) {
  const double lr = portable_log(std::get<double>(sample.at("lr")));
  if (!sample.contains("momentum")) return 0.3 + 0.1 * (lr + 7) * (lr + 7);
  const double momentum = std::get<double>(sample.at("momentum")) - 0.5;
  return (lr + 2.3) * (lr + 2.3) + 4 * momentum * momentum;
}

/// Returns the logarithm of the lowest toy loss among `trials`, averaged over 20 seeds. A proposal is made when all
/// trials except the last `running` have results.
inline double toy_result(const StrategyPlugin& plugin, const nlohmann::json& options, std::uint32_t trials = 60,
                         std::uint32_t running = 0) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Context context = small_context(seed, false);
    context.goals = {{false, "loss"}};
    auto strategy = make(plugin, context, options);
    std::vector<double> losses;
    for (std::uint32_t id = 1; id <= trials; ++id) {
      const auto group = must(strategy->suggest({1}));
      losses.push_back(toy_loss(group.proposals().at(0).sample));
      strategy->observe(study::Proposed{TrialId{id}, group.proposals()[0]});
      if (id <= running) continue;
      const TrialId ends{id - running};
      strategy->observe(study::Measured{{ends, 4, 4, {{"loss", losses[ends.value - 1]}}}});
      strategy->observe(study::Ended{ends, {}});
    }
    sum += portable_log(*std::min_element(losses.begin(), losses.end()) + 1e-9);
  }
  return sum / 20;
}

/// Returns the proposals as JSON, one per line.
inline std::string text_of(const Suggestion& group) {
  std::string text;
  for (const study::Proposal& proposal : group.proposals()) text += study::proposal_json(proposal).dump() + "\n";
  return text;
}

/// Expects that two new strategies follow `live`, which made `events`: one that is asked for each proposal, and one
/// that only observes.
inline void expect_replays(const Strategy& live, const std::vector<study::Event>& events, Strategy& asked,
                           Strategy& resumed) {
  for (const study::Event& event : events) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const auto group = asked.suggest({1});
      ASSERT_TRUE(group.ok());
      ASSERT_EQ(group->proposals().size(), 1U);
      EXPECT_EQ(study::proposal_json(group->proposals()[0]), study::proposal_json(proposed->proposal));
    }
    asked.observe(event);
    resumed.observe(event);
  }
  const auto text = [](const Strategy& strategy) { return text_of(must(strategy.suggest({1}))); };
  EXPECT_EQ(text(asked), text(live));
  EXPECT_EQ(text(resumed), text(live));
}

/// How a sampler compares with random search over 20 seeds.
struct Comparison {
  int wins = 0;      ///< Seeds with a lower loss.
  double ratio = 0;  ///< Mean of the logarithm to base 10 of the ratio of the losses.
};
/// Compares the losses that `lowest` gives for a plug-in, its options and a seed.
template <class Lowest>
Comparison compared_with_random(const Lowest& lowest, const StrategyPlugin& plugin, const nlohmann::json& options) {
  Comparison out;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const double learned = lowest(plugin, options, seed), random = lowest(random_plugin(), Options::object(), seed);
    out.wins += learned < random ? 1 : 0;
    out.ratio += std::log10(learned / random) / 20;
  }
  return out;
}

}  // namespace lanista::search::testing
