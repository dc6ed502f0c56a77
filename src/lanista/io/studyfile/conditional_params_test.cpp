// Parameters that only some values of others read: `optimizer: [sgd, adam], momentum: [0, 0.9]`.
#include <gtest/gtest.h>

#include "lanista/io/studyfile/study_file.h"
#include "support/io/studyfile/test_support.h"

namespace lanista::studyfile {
namespace {

using testing::errors_of;

std::string with_params(const std::string& params, const std::string& rest = "") {
  return "space: {params: {" + params + "}}\n" + rest;
}

/// The number of distinct samples of space.params; -1: it is not countable, or the text is refused.
double num_samples(const std::string& text) {
  const auto config = read_study(text, "s.yaml");
  EXPECT_TRUE(config) << text << ": " << config.error().message;
  return config ? config->space.params.size().value_or(-1) : -1;
}

struct SpaceSize {
  std::string params;
  double samples;
  std::string rest = "";
};

TEST(ConditionalParams, CountsEqualTrainingsOnce) {
  const std::vector<SpaceSize> sizes{
      {"optimizer: [sgd, adam], momentum: [0, 0.5, 0.9]", 3 + 1},
      {"momentum: [0, 0.5, 0.9], optimizer: [sgd, adam]", 3 + 1},
      {"optimizer: \"choice(sgd, adam)\", momentum: [0, 0.5, 0.9]", 3 + 1},
      {"optimizer: [sgd, rmsprop], momentum: [0, 0.5, 0.9]", 3 * 2},
      {"optimizer: [sgd, rmsprop, lion], momentum: [0.5, 0.9], beta2: [0.9, 0.99]", 2 + 2 * 2 + 2},
      {"optimizer: [adam, lion], eps: [1e-8, 1e-7], beta1: [0.8, 0.9]", 4 + 2},
      {"optimizer: {sgd: {lr: [0.1, 0.2]}, adam: }, momentum: [0, 0.5, 0.9]", 2 * 3 + 1},
      {"optimizer: [sgd, adam], nesterov: [true, false]", 2 + 1},
      {"optimizer: [sgd, adam], weight_decay: [0, 0.1], lr: [0.1, 0.2]", 8},
      {"momentum: [0, 0.5, 0.9], nesterov: [true, false]", 1 + 2 * 2},
      {"nesterov: [true, false], momentum: [0.0, 0.9]", 1 + 2},
      {"nesterov: [true, false], momentum: [0.5, 0.9]", 4},
      {"nesterov: [true, false]", 2},
      {"nesterov: false, momentum: [0, 0.9]", 2},
      {"nesterov: [true, false]", 2, "train: {momentum: 0.5}\n"},
      {"beta1: [0.8, 0.9]", 2, "train: {optimizer: adam}\n"},
  };
  for (const SpaceSize& each : sizes) {
    EXPECT_EQ(num_samples(with_params(each.params, each.rest)), each.samples) << each.params;
  }
}

TEST(ConditionalParams, RefusesWhatNoOptimizerReads) {
  const std::vector<std::pair<std::string, std::string>> refused{
      {with_params("optimizer: adam, momentum: [0, 0.9]"),
       "s.yaml:1:35: space.params.momentum: 'momentum' has no effect on adam; it is a number of sgd and rmsprop"},
      {with_params("optimizer: [adam, lion], momentum: 0.9"), "'momentum' has no effect on adam and lion; "},
      {with_params("beta2: [0.9, 0.99]"), "'beta2' has no effect on sgd; it is a number of adam, adamw, lion and "},
      {with_params("optimizer: {adam: {lr: 0.1}}, nesterov: [true, false]"), "'nesterov' has no effect on adam; "},
      {with_params("eps: 1e-8", "train: {optimizer: lion}\n"), "'eps' has no effect on lion; "},
      {with_params("nesterov: [true, false], momentum: 0"), "'nesterov' has no effect, because the momentum is 0; "},
      {with_params("nesterov: [true, false]", "train: {momentum: 0}\n"), "because the momentum is 0"},
      {with_params("optimizer: [sgd, adagrad], momentum: 0.9"), "space.params.optimizer: "},
      {"train: {optimizer: adam, tune: {mltuner: {params: {momentum: \"range(0, 0.9)\"}}}}\n",
       "train.tune.mltuner.params.momentum: 'momentum' has no effect on adam; "},
      {with_params("optimizer: [adam, lion]",
                   "strategy: {name: random, then: {mltuner: {params: {momentum: \"range(0, 0.9)\"}}}}\n"),
       "strategy.then.mltuner.params.momentum: 'momentum' has no effect on adam and lion; "},
  };
  for (const auto& [text, message] : refused) {
    const std::string seen = errors_of(text);
    EXPECT_NE(seen.find(message), std::string::npos) << text << "\n  gave: " << seen << "\n  want: " << message;
  }
}

TEST(ConditionalParams, KeepsThemInAStoredStudy) {
  for (const std::string params : {"lr: 0.1, momentum: [0, 0.9], optimizer: [rmsprop, adam, sgd], eps: [1e-8, 1e-7]",
                                   "nesterov: [true, false], momentum: [0, 0.5, 0.9]",
                                   "optimizer: {sgd: {lr: 0.1}, adam: }, momentum: [0, 0.9], beta1: [0.8, 0.9]"}) {
    const auto config = read_study(with_params(params), "s.yaml");
    ASSERT_TRUE(config) << config.error().message;
    const auto stored = read_stored_study(write_study(*config), "study.yaml");
    ASSERT_TRUE(stored) << stored.error().message;
    const auto &before = config->space.params.parameters(), &after = stored->space.params.parameters();
    ASSERT_EQ(before.size(), after.size()) << params;
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].name, after[i].name) << params;
      EXPECT_EQ(before[i].domain, after[i].domain) << params;
      EXPECT_EQ(before[i].when, after[i].when) << params;
    }
  }
}

TEST(ConditionalParams, FirstRulesKeepThemUnconditional) {
  const std::string rules = "rules: 1\n";
  EXPECT_EQ(num_samples(with_params("optimizer: adam, momentum: [0, 0.3, 0.6, 0.9]", rules)), 4);
  EXPECT_EQ(num_samples(with_params("optimizer: [sgd, adam], momentum: [0, 0.9]", rules)), 4);
  EXPECT_EQ(num_samples(with_params("nesterov: [true, false], momentum: 0", rules)), 2);
  EXPECT_NE(errors_of(with_params("optimizer: {adam: {momentum: 0.9}}", rules)), "");
}

}  // namespace
}  // namespace lanista::studyfile
