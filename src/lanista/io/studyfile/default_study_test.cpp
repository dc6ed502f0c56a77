// Settings of the default study give way to those of the user.
#include <gtest/gtest.h>

#include "lanista/io/studyfile/study_file.h"
#include "support/io/studyfile/test_support.h"

namespace lanista::studyfile {
namespace {

study::StudyConfig with_overrides(const std::vector<Override>& overrides) {
  auto config = read_study(default_study(), "default study", overrides);
  EXPECT_TRUE(config) << config.error().message;
  return config ? *std::move(config) : study::StudyConfig();
}

TEST(DefaultStudy, GivesWayToAnotherStrategy) {
  for (const std::string name : {"random", "grid", "gp", "tpe", "sobol", "bohb", "cmaes", "local_search"}) {
    const study::StudyConfig config = with_overrides({{"strategy.name", name}});
    EXPECT_EQ(config.strategy.name, name);
    EXPECT_EQ(config.strategy.slots, 16) << "a setting of every strategy stays";
    EXPECT_EQ(config.stop.rule, "asha");
  }
  for (const std::string key : {"strategy", "strategy.name"}) {
    EXPECT_EQ(with_overrides({{key, "dehb"}}).stop.rule, "none") << "dehb has rungs of its own";
  }
  const study::StudyConfig tuned = with_overrides({{"strategy", "{name: mltuner, params: {lr: \"log(1e-3, 1)\"}}"}});
  EXPECT_EQ(tuned.train.tune.name, "mltuner") << "without mutations, schedule and stopping rule of the default";
  EXPECT_EQ(with_overrides({{"strategy.name", "nsga2"}}).strategy.options.value("population", 0), 16);
  const auto own =
      read_study(default_study(), "default study", {{"strategy.name", "gp"}, {"strategy.population", "9"}});
  ASSERT_FALSE(own);
  EXPECT_NE(own.error().message.find("--set strategy.population: strategy.population: unknown option 'population'"),
            std::string::npos)
      << own.error().message;
  EXPECT_FALSE(read_study(default_study(), "default study", {{"strategy.name", "dehb"}, {"stop.rule", "asha"}}));
}

TEST(DefaultStudy, GivesWayToAnotherStoppingRule) {
  for (const std::string rule : {"median", "patience", "curve", "hyperband", "none"}) {
    EXPECT_EQ(with_overrides({{"stop.rule", rule}}).stop.rule, rule);
  }
  EXPECT_EQ(with_overrides({{"stop.rule", "successive_halving"}}).stop.options.at("rungs").size(), 2U);
}

TEST(DefaultStudy, GivesWayToAnotherLength) {
  EXPECT_EQ(with_overrides({{"train.epochs", "4"}}).stop.rule, "asha");
  EXPECT_EQ(with_overrides({{"train.epochs", "3"}}).stop.rule, "none") << "no rung is reached";
  EXPECT_EQ(with_overrides({{"train.epochs", "3"}, {"stop.rungs", "[5]"}}).stop.rule, "asha");
  EXPECT_EQ(with_overrides({{"train.steps", "400"}}).train.length.steps, 400);
  EXPECT_FALSE(read_study(default_study(), "default study", {{"train.steps", "400"}, {"train.epochs", "3"}}));
}

TEST(DefaultStudy, OtherFilesKeepTheirSettings) {
  const std::string text = "strategy: {name: evolution, population: 8}\n";
  const auto refused = read_study(text, "s.yaml", {{"strategy.name", "random"}});
  ASSERT_FALSE(refused);
  const std::string& message = refused.error().message;
  EXPECT_NE(message.find("'random' has no option 'population', which is set at s.yaml:1:29; write --set "
                         "strategy=random to replace the whole section"),
            std::string::npos)
      << message;
  const std::string written = testing::errors_of("stop: {rule: median, rungs: [1]}\n");
  EXPECT_NE(written.find("stop.rule is median, and it is an option of asha, successive_halving"), std::string::npos)
      << written;
  EXPECT_EQ(written.find("--set"), std::string::npos) << written;
  EXPECT_EQ(testing::errors_of("stop: {rule: median, rngs: [1]}\n").find("it is an option of"), std::string::npos);
}

}  // namespace
}  // namespace lanista::studyfile
