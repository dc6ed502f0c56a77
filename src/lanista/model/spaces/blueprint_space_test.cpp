// Model spaces of blueprints: the model of a sample is the base with edits, and mutations follow.
#include <gtest/gtest.h>

#include "lanista/model/mutate/model_space.h"

namespace lanista::mutate {
namespace {

using space::Sample;
using space::Value;

ModelSpace make(Chain layers, std::vector<ValueChoice> choices = {}, Limits limits = {}) {
  const graph::OpTable ops = graph::builtin_ops();
  auto blueprint = Blueprint::make(ops, std::move(layers), std::move(choices));
  LANISTA_CHECK(blueprint.ok(), blueprint ? "" : blueprint.error().text());
  std::vector<std::shared_ptr<const Mutator>> mutators;
  for (const MutatorPlugin& plugin : builtin_mutators()) {
    if (plugin.name == "widen" || plugin.name == "deepen")
      mutators.push_back(*plugin.make(*resolve_options({}, plugin.options)));
  }
  auto space = ModelSpace::make(ops, {"toy", *blueprint, model_interface({{6}}, 3)}, std::nullopt, std::move(mutators),
                                {}, limits);
  LANISTA_CHECK(space.ok(), space ? "" : space.error().text());
  return *std::move(space);
}

ModelSpace toy(Limits limits = {}) {
  return make({layer("linear", {{"out", formula("width")}}), choice("act", {{"relu", {layer("relu")}}, {"skip", {}}}),
               repeat("depth", space::IntRange{0, 3}, {layer("linear", {{"out", formula("width")}}), layer("gelu")}),
               layer("linear", {{"out", formula("outputs")}})},
              {pick("width", {8, 16, 512})}, limits);
}

Sample sample(std::int64_t width, const char* act, std::int64_t depth) {
  return {{"model.width", Value(width)},
          {"model.act", Value(std::string(act))},
          {"model.depth", Value(depth)},
          {"lr", Value(0.1)}};
}

TEST(ModelSpaceOverABlueprint, NamesItsChoicesApartFromHyperParameters) {
  const auto parameters = toy().parameters();
  ASSERT_EQ(parameters.size(), 3U);
  EXPECT_EQ(parameters[0].name, "model.width");
  EXPECT_TRUE(space::is_model_choice(parameters[1].name));
}

TEST(ModelSpaceOverABlueprint, SamplesModelsAsEditsOfBase) {
  const ModelSpace space = toy();
  const Candidate base = space.base(0);
  const auto sampled = space.model_of_sample(0, sample(16, "skip", 2));
  ASSERT_TRUE(sampled.ok()) << sampled.error().text();

  EXPECT_TRUE(*space.rebuild(0, sampled->edits) == sampled->graph);
  EXPECT_TRUE(sampled->steps.empty());
  EXPECT_EQ(sampled->graph.next_id(), base.graph.next_id());
  // The base is the first sample: width 8, relu, depth 0.
  EXPECT_TRUE(space.model_of_sample(0, sample(8, "relu", 0))->edits.empty());
  EXPECT_FALSE(space.model_of_sample(0, {{"lr", Value(0.1)}}).ok());
}

TEST(ModelSpaceOverABlueprint, MutatesAndReplaysOnAnotherSample) {
  const ModelSpace space = toy();
  const auto sampled = space.model_of_sample(0, sample(16, "relu", 1));
  ASSERT_TRUE(sampled.ok());
  int replayed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto child = space.mutate(*sampled, 2, Rng(seed));
    if (!child) continue;
    EXPECT_TRUE(*space.rebuild(0, child->edits) == child->graph);
    // Ids of mutations start after all ids of the blueprint.
    for (const auto& node : child->graph.nodes()) {
      EXPECT_TRUE(sampled->graph.contains(node->id) || node->id >= space.base(0).graph.next_id());
    }
    const auto other = space.model_of_sample(0, sample(8, "relu", 1));
    const auto moved = space.replay(*other, child->steps);
    if (!moved) {
      EXPECT_EQ(moved.error().code, Code::kNotApplicable);
      continue;
    }
    EXPECT_TRUE(*space.rebuild(0, moved->edits) == moved->graph);
    EXPECT_EQ(moved->steps, child->steps);
    ++replayed;
  }
  EXPECT_GT(replayed, 10);
}

TEST(ModelSpaceOverABlueprint, RespectsLimits) {
  const ModelSpace space = toy({.params = 10'000, .flops = {}});
  const auto wide = space.model_of_sample(0, sample(512, "relu", 3));
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().code, Code::kNotApplicable);
  EXPECT_NE(wide.error().message.find("the limit is 10000"), std::string::npos);
}

TEST(ModelSpaceOverABlueprint, ReadsTokensFromModelInterface) {
  const graph::OpTable ops = graph::builtin_ops();
  const Chain layers{layer("embedding", {{"vocab", formula("vocab")}, {"dim", 4}}), layer("flatten"),
                     layer("linear", {{"out", formula("outputs")}})};
  const auto space = ModelSpace::make(ops, {"text", *Blueprint::make(ops, layers), model_interface({{5}}, 7, 20)},
                                      std::nullopt, {}, {}, {});
  ASSERT_TRUE(space.ok()) << space.error().text();
  EXPECT_EQ(space->base(0).graph.node({0}).attrs,
            (graph::Attrs{{"dtype", std::string("index")}, {"shape", std::vector<std::int64_t>{5}}}));
}

}  // namespace
}  // namespace lanista::mutate
