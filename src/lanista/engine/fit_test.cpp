#include "lanista/engine/fit.h"

#include <gtest/gtest.h>

#include "lanista/engine/study_file.h"

namespace lanista::engine {
namespace {

data::DataSpec images() {
  data::DataSpec spec;
  spec.features = {{1, 8, 8}};
  spec.classes = 10;
  return spec;
}
data::DataSpec numbers() {
  data::DataSpec spec;
  spec.features = {{4}};
  spec.classes = 0;
  spec.target_size = 1;
  return spec;
}

std::vector<std::string> goal_names(const study::StudyConfig& config) {
  std::vector<std::string> names;
  for (const auto& goal : config.goals) names.push_back(goal.metric);
  return names;
}

TEST(Fit, SettlesWhatTheFileLeftToTheData) {
  auto config = *read_study("", "s");
  ASSERT_TRUE(fit_to_data(config, images()));
  EXPECT_EQ(config.model.base, (std::vector<std::string>{"builtin:small-mlp", "builtin:small-cnn"}));
  EXPECT_EQ(goal_names(config), std::vector<std::string>{"val_accuracy"});
  EXPECT_EQ(config.train.metrics, std::vector<std::string>{"accuracy"});

  auto table = *read_study("", "s");
  ASSERT_TRUE(fit_to_data(table, numbers()));
  EXPECT_EQ(table.model.base, std::vector<std::string>{"builtin:small-mlp"});
  EXPECT_EQ(goal_names(table), std::vector<std::string>{"val_loss"});
  EXPECT_FALSE(table.goals.front().maximize);
  EXPECT_EQ(table.train.metrics, std::vector<std::string>{"mae"});
}

TEST(Fit, TakesTheBasesThatReadTokens) {
  auto spec = numbers();
  spec.classes = spec.vocab = 256;
  auto config = *read_study("", "s");
  ASSERT_TRUE(fit_to_data(config, spec));
  EXPECT_EQ(config.model.base, (std::vector<std::string>{"builtin:small-mlp", "builtin:small-transformer"}));
}

TEST(Fit, DoneTwiceChangesNothing) {
  auto once = *read_study(default_study(), "s");
  ASSERT_TRUE(fit_to_data(once, images()));
  auto twice = *read_study(write_study(once), "s");
  ASSERT_TRUE(fit_to_data(twice, images()));

  EXPECT_EQ(write_study(once), write_study(twice));
}

TEST(Fit, RefusesWhatDoesNotSuitTheData) {
  struct Case {
    std::string text, where, message;
  };
  const std::vector<Case> cases{{"goal: maximize val_acuracy", "goal", "did you mean 'val_accuracy'?"},
                                {"goal: minimize val_mae", "goal", "measured: train_loss, val_loss, val_accuracy"},
                                {"stop: {rule: asha, on: val_f1}", "stop.on", "'val_f1' is not measured"},
                                {"train: {metrics: [mae]}", "train.metrics", "does not fit"},
                                {"data: {augment: [flip, {crop: {pad: 8}}]}", "data.augment[1].pad",
                                 "crop: 8 pixels are too many for images of shape [1, 8, 8]"},
                                {"train: {loss: mse}", "train.loss", "allowed: auto, cross_entropy"}};
  for (const auto& each : cases) {
    auto config = *read_study(each.text, "s");
    const auto fitted = fit_to_data(config, images());
    ASSERT_FALSE(fitted) << each.text;
    EXPECT_EQ(fitted.error().code, Code::kInvalidArgument);
    EXPECT_EQ(fitted.error().where, each.where);
    EXPECT_NE(fitted.error().message.find(each.message), std::string::npos) << fitted.error().message;
  }
}

}  // namespace
}  // namespace lanista::engine
