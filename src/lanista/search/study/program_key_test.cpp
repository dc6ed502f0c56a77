#include "lanista/search/study/program_key.h"

#include <gtest/gtest.h>

#include "lanista/model/graph/text.h"

namespace lanista::study {
namespace {

const graph::OpTable& ops() {
  static const graph::OpTable table = graph::builtin_ops();
  return table;
}

Digest key_of(const std::string& model, const Recipe& recipe) {
  const auto graph = graph::parse(model);
  EXPECT_TRUE(graph) << model;
  return program_key(structure_key(*graph, ops()), recipe);
}

std::string model(const std::string& activation, const std::string& p = "0.5") {
  return "%0 = input(shape=[4])\n%1 = " + activation + "(%0)\n%2 = dropout(%1, p=" + p +
         ")\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";
}

Recipe recipe() {
  Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "sgd";
  recipe.precision = "float32";
  recipe.batch = 16;
  return recipe;
}

TEST(ProgramKey, DependsOnProgramStructure) {
  const Digest key = key_of(model("relu"), recipe());
  const auto is_same_with = [&](auto change) {
    Recipe other = recipe();
    change(other);
    return key_of(model("relu"), other) == key;
  };

  EXPECT_FALSE(is_same_with([](Recipe& r) { r.batch = 32; }));
  EXPECT_FALSE(is_same_with([](Recipe& r) { r.shards = 2; }));
  EXPECT_FALSE(is_same_with([](Recipe& r) { r.accumulate = 2; }));
  EXPECT_FALSE(is_same_with([](Recipe& r) { r.optimizer = "adam"; }));
  EXPECT_FALSE(is_same_with([](Recipe& r) { r.precision = "float64"; }));
  EXPECT_FALSE(is_same_with([](Recipe& r) { r.loss = "mse"; }));
  EXPECT_NE(key_of(model("tanh"), recipe()), key);
}

TEST(ProgramKey, IgnoresLaneAttributes) {
  const Digest key = key_of(model("relu"), recipe());
  Recipe other = recipe();
  other.lr = 0.5;
  other.momentum = 0.1;
  other.epochs = 77;
  other.steps_per_epoch = 5;
  other.steps = 33;
  other.schedule = "cosine";
  other.augment = {{"noise", {}}};

  EXPECT_EQ(key_of(model("relu"), other), key);
  EXPECT_EQ(key_of(model("relu", "0.25"), recipe()), key);
}

TEST(StateBytes, CountParametersAndSlots) {
  Recipe adam = recipe();
  adam.optimizer = "adam";
  adam.precision = "float64";

  EXPECT_EQ(state_bytes(10, recipe()), 80);
  EXPECT_EQ(state_bytes(10, adam), 240);
}

// Trials that differ only in these settings have one program and may exchange states.
TEST(ChangesInTraining, ExcludesParametersOfPrograms) {
  const Digest structure = hash_text("a model");
  const StudyConfig config;
  const space::Value cosine(std::string("cosine")), adam(std::string("adam"));
  for (const std::string& name : sample_names()) {
    space::Value value = 0.25;
    if (name == "schedule") value = cosine;
    if (name == "optimizer") value = adam;
    if (name == "nesterov") value = true;
    if (name == "batch") value = std::int64_t{7};
    const auto plain = make_recipe(config, "cross_entropy", {}),
               varied = make_recipe(config, "cross_entropy", {{name, value}});
    ASSERT_TRUE(plain && varied) << name << " " << varied.error().text();
    EXPECT_NE(recipe_json(*plain), recipe_json(*varied)) << name;
    EXPECT_EQ(program_key(structure, *plain) == program_key(structure, *varied), can_change_in_training(name)) << name;
  }
  EXPECT_FALSE(can_change_in_training("model.depth"));
}

}  // namespace
}  // namespace lanista::study
