#include "lanista/search/study/config.h"

#include <gtest/gtest.h>

#include "lanista/search/tuning/tuner.h"

namespace lanista::study {
namespace {

using space::Value;

TEST(Recipe, UsesTrainValuesAsDefault) {
  StudyConfig config;
  config.train.optimizer.name = "adam";
  config.train.optimizer.lr = 0.25;
  config.train.length.epochs = 4;
  config.data.batch = 7;

  const auto recipe = make_recipe(config, "mse", {});

  ASSERT_TRUE(recipe.ok());
  EXPECT_EQ(recipe->optimizer, "adam");
  EXPECT_EQ(recipe->lr, 0.25);
  EXPECT_EQ(recipe->epochs, 4);
  EXPECT_EQ(recipe->batch, 7);
  EXPECT_EQ(recipe->loss, "mse");
}

TEST(Recipe, AppliesEverySampleName) {
  const space::Sample sample{{"optimizer", Value(std::string("adamw"))},
                             {"lr", Value(0.5)},
                             {"momentum", Value(0.25)},
                             {"nesterov", Value(true)},
                             {"weight_decay", Value(0.125)},
                             {"beta1", Value(0.75)},
                             {"beta2", Value(0.875)},
                             {"eps", Value(1e-6)},
                             {"clip_norm", Value(std::int64_t{5})},
                             {"label_smoothing", Value(0.1)},
                             {"schedule", Value(std::string("cosine"))},
                             {"warmup_epochs", Value(std::int64_t{2})},
                             {"batch", Value(std::int64_t{64})}};
  ASSERT_EQ(sample.size(), sample_names().size());
  for (const std::string& name : sample_names()) EXPECT_TRUE(sample.contains(name)) << name;

  const auto recipe = make_recipe(StudyConfig{}, "cross_entropy", sample);

  ASSERT_TRUE(recipe.ok()) << recipe.error().text();
  EXPECT_EQ(recipe->optimizer, "adamw");
  EXPECT_EQ(recipe->lr, 0.5);
  EXPECT_EQ(recipe->momentum, 0.25);
  EXPECT_TRUE(recipe->nesterov);
  EXPECT_EQ(recipe->weight_decay, 0.125);
  EXPECT_EQ(recipe->beta1, 0.75);
  EXPECT_EQ(recipe->beta2, 0.875);
  EXPECT_EQ(recipe->eps, 1e-6);
  EXPECT_EQ(recipe->clip_norm, 5);
  EXPECT_EQ(recipe->label_smoothing, 0.1);
  EXPECT_EQ(recipe->schedule, "cosine");
  EXPECT_EQ(recipe->warmup_epochs, 2);
  EXPECT_EQ(recipe->batch, 64);
}

TEST(Recipe, AcceptsWholeNumberBatch) {
  const auto with = [](const Value& batch) { return make_recipe(StudyConfig{}, "mse", {{"batch", batch}}); };
  EXPECT_EQ(with(Value(48.0))->batch, 48);  // of quant(16, 64, 16)
  EXPECT_EQ(with(Value(kMaxBatch))->batch, kMaxBatch);
  for (const Value& bad : {Value(0.0), Value(16.5), Value(std::int64_t{-1}), Value(kMaxBatch + 1), Value(true),
                           Value(std::string("many"))}) {
    const auto recipe = with(bad);
    ASSERT_FALSE(recipe.ok()) << space::value_text(bad);
    EXPECT_EQ(recipe.error().where, "batch");
  }
}

TEST(Recipe, RejectsUnknownNamesWithNearest) {
  const auto recipe = make_recipe(StudyConfig{}, "mse", {{"momentun", Value(0.5)}});

  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, Code::kInvalidArgument);
  EXPECT_NE(recipe.error().message.find("'momentum'"), std::string::npos) << recipe.error().message;
}

TEST(Recipe, RejectsInvalidTypesAndTexts) {
  const space::Sample cases[] = {{{"lr", Value(std::string("fast"))}},
                                 {{"lr", Value(-0.5)}},
                                 {{"nesterov", Value(0.5)}},
                                 {{"optimizer", Value(std::string("lbfgs"))}},
                                 {{"schedule", Value(true)}}};
  for (const space::Sample& sample : cases) {
    const auto recipe = make_recipe(StudyConfig{}, "mse", sample);

    ASSERT_FALSE(recipe.ok()) << sample.begin()->first;
    EXPECT_EQ(recipe.error().code, Code::kInvalidArgument);
    EXPECT_EQ(recipe.error().where, sample.begin()->first);
  }
}

TEST(Recipe, WritesEveryNumberToJson) {
  const auto recipe = make_recipe(StudyConfig{}, "mse", {{"lr", Value(0.5)}});
  ASSERT_TRUE(recipe.ok());

  const nlohmann::json json = recipe_json(*recipe);

  EXPECT_EQ(json.size(), 18U);
  EXPECT_EQ(json["lr"], 0.5);
  for (const std::string& name : sample_names()) EXPECT_TRUE(json.contains(name)) << name;
}

// Step settings and recipes accept the same values of step settings.
TEST(Recipe, AllowsChangeOnlyOfStepSettings) {
  for (const std::string& name : tunable_names()) {
    SCOPED_TRACE(name);
    Recipe recipe;
    StepSettings numbers;
    const space::Sample sample{{name, 3.0}};
    ASSERT_TRUE(apply_sample(recipe, sample));
    ASSERT_TRUE(apply_sample(numbers, sample));
    Recipe with;
    static_cast<StepSettings&>(with) = numbers;
    EXPECT_EQ(recipe_json(with), recipe_json(recipe));
    EXPECT_EQ(recipe_json(with).at(name), 3);
    EXPECT_EQ(apply_sample(numbers, {{name, -1.0}}).error().message,
              apply_sample(recipe, {{name, -1.0}}).error().message);
  }
  StepSettings numbers;
  EXPECT_EQ(apply_sample(numbers, {{"schedule", std::string("cosine")}}).error().message, "steps read no 'schedule'");
  EXPECT_EQ(apply_sample(numbers, {{"momentun", 0.5}}).error().message,
            "steps read no 'momentun'; did you mean 'momentum'?");
}

TEST(Recipe, WritesShardsIfAny) {
  StudyConfig config;
  EXPECT_EQ(summation_text(config.train), "");
  config.train.numerics.shards = 4;
  EXPECT_EQ(summation_text(config.train), "4");
  const auto sharded = make_recipe(config, "mse", {});
  ASSERT_TRUE(sharded.ok());
  EXPECT_EQ(sharded->shards, 4);
  EXPECT_EQ(recipe_json(*sharded)["shards"], 4);
  EXPECT_FALSE(recipe_json(*sharded).contains("accumulate"));

  config.train.numerics.accumulate = 2;
  EXPECT_EQ(summation_text(config.train), "4x2");
  config.train.numerics.shards = 1;
  EXPECT_EQ(summation_text(config.train), "2");
  EXPECT_EQ(recipe_json(*make_recipe(config, "mse", {}))["accumulate"], 2);
}

TEST(Recipe, WritesStepsIfAny) {
  StudyConfig config;
  const nlohmann::json plain = recipe_json(*make_recipe(config, "mse", {}));
  EXPECT_FALSE(plain.contains("steps_per_epoch") || plain.contains("steps"));
  EXPECT_EQ(recipe_from_json(plain)->steps_per_epoch, 0) << "an epoch is a pass, as in recipes of older versions";
  EXPECT_EQ(recipe_from_json(plain)->steps, 0);

  config.train.length.steps_per_epoch = 7;
  config.train.length.steps = 50;
  const nlohmann::json recipe_fields = recipe_json(*make_recipe(config, "mse", {}));
  EXPECT_EQ(recipe_fields["steps_per_epoch"], 7);
  EXPECT_EQ(recipe_fields["steps"], 50);
  const auto again = recipe_from_json(recipe_fields);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->steps_per_epoch, 7);
  EXPECT_EQ(again->steps, 50);
}

TEST(Recipe, WritesAugmentationIfAny) {
  StudyConfig config;
  config.data.augment = {{"flip"}, {"crop", {{"pad", 2}}}};
  const auto recipe = make_recipe(config, "mse", {});
  ASSERT_TRUE(recipe.ok());

  EXPECT_EQ(recipe_json(*recipe)["augment"].dump(), R"([{"flip":{}},{"crop":{"pad":2}}])");
}

}  // namespace
}  // namespace lanista::study
