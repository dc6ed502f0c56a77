// Settings that have no effect, and budgets below one trial.
#include "lanista/engine/core/idle_settings.h"

#include <gtest/gtest.h>

#include "lanista/engine/core/check_config.h"
#include "lanista/engine/core/study_limits.h"

namespace lanista::engine {
namespace {

study::StudyConfig with_epochs(std::int64_t epochs) {
  study::StudyConfig config;
  config.goals = {{true, "val_accuracy"}};
  config.train.length.epochs = epochs;
  return config;
}

void expect_idle(const study::StudyConfig& config, const std::vector<std::string>& parts) {
  const std::vector<std::string> idle = idle_settings(config);
  ASSERT_EQ(idle.size(), parts.size()) << (idle.empty() ? parts.front() : idle.back());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_NE(idle[i].find(parts[i]), std::string::npos) << parts[i] << "\n" << idle[i];
  }
}

TEST(IdleSettings, NamesWarmupThatNeverEnds) {
  study::StudyConfig config = with_epochs(6);
  expect_idle(config, {});
  config.train.schedule.warmup_epochs = 5.5;
  expect_idle(config, {});
  config.train.schedule.warmup_epochs = 6;
  expect_idle(config, {"train.warmup_epochs is 6, and trials have 6 epochs, so the learning rate never reaches lr"});
  ASSERT_TRUE(config.space.params.add({"warmup_epochs", space::Categorical{{std::int64_t{1}, 100.0}}, {}}));
  expect_idle(config, {});
  config.space.params = {};
  ASSERT_TRUE(config.space.params.add({"warmup_epochs", space::FloatRange{10, 20}, {}}));
  expect_idle(config, {"space.params.warmup_epochs is 10 or more"});
}

TEST(IdleSettings, NamesStepScheduleWithoutStep) {
  study::StudyConfig config = with_epochs(3);
  config.train.schedule.name = "step";
  expect_idle(config, {"schedule step never lowers the learning rate, since train.step_every is 3 and trials have 3"});
  config.train.schedule.step_every = 2;
  expect_idle(config, {});
  config.train.schedule.step_factor = 1;
  expect_idle(config, {"train.step_factor is 1"});
  config = with_epochs(3);
  ASSERT_TRUE(
      config.space.params.add({"schedule", space::Categorical{{std::string("constant"), std::string("step")}}, {}}));
  expect_idle(config, {"it is equal to constant, which space.params lists too"});
}

TEST(IdleSettings, NamesNumbersOfOtherOptimizers) {
  study::StudyConfig config = with_epochs(3);
  config.train.optimizer.momentum = 0;
  config.train.optimizer.nesterov = true;
  expect_idle(config, {"train.nesterov has no effect, because train.momentum is 0"});
  config.train.optimizer.name = "adam";
  config.train.optimizer.nesterov = false;
  config.train.optimizer.beta1 = 0.8;
  expect_idle(config, {"train.momentum has no effect on adam; it is a number of sgd and rmsprop"});
  ASSERT_TRUE(
      config.space.params.add({"optimizer", space::Categorical{{std::string("sgd"), std::string("lion")}}, {}}));
  expect_idle(config, {});
}

struct IdleRule {
  std::string rule;
  Options options;
  std::string message;
};

TEST(IdleSettings, RulesThatNeverActAreRefused) {
  const std::vector<IdleRule> refused{
      {"asha", {{"rungs", {30, 90}}}, "rungs is [30,90], and trials have 6 epochs (train.epochs), so stop.rule asha"},
      {"asha", {{"rungs", {6}}}, "it must begin below epoch 6"},
      {"asha", {{"min", 6}}, "min is 6"},
      {"asha", {{"rungs", {30}}, {"type", "promotion"}}, "rungs is [30]"},
      {"median", {{"min", 6}}, "min is 6"},
      {"curve", {{"min", 7}}, "min is 7"},
      {"patience", {{"epochs", 6}}, "epochs is 6"},
      {"patience", {{"epochs", 2}, {"min", 30}}, "min is 30"},
  };
  for (const IdleRule& each : refused) {
    study::StudyConfig config = with_epochs(6);
    config.stop = {each.rule, each.options};
    const auto checked = check_config(config);
    ASSERT_FALSE(checked) << each.message;
    EXPECT_NE(checked.error().message.find(each.message), std::string::npos) << checked.error().message;
    EXPECT_TRUE(checked.error().where.starts_with("stop.")) << checked.error().where;
    config.data.rules = study::kFirstRules;
    EXPECT_TRUE(check_config(config)) << each.message;
  }
  const std::vector<IdleRule> accepted{{"asha", {{"rungs", {5, 90}}}, ""},
                                       {"asha", {{"min", 5}}, ""},
                                       {"patience", {{"epochs", 5}, {"min", 5}}, ""},
                                       {"median", {{"min", 5}}, ""}};
  for (const IdleRule& each : accepted) {
    study::StudyConfig config = with_epochs(6);
    config.stop = {each.rule, each.options};
    EXPECT_TRUE(check_config(config)) << each.rule << each.options.dump();
  }
  study::StudyConfig tuned = with_epochs(6);
  tuned.stop = {"patience", {{"epochs", 12}}};
  tuned.train.tune.name = "mltuner";
  EXPECT_TRUE(check_config(tuned)) << "strategy mltuner sets this rule";
  // A default is not stated by the study.
  for (const std::string rule : {"asha", "median", "patience", "curve"}) {
    study::StudyConfig config = with_epochs(1);
    config.stop = {rule, {}};
    EXPECT_TRUE(check_config(config)) << rule;
  }
}

TEST(StepsBudget, MustTrainOneTrial) {
  data::DataSpec data;
  data.split_rows = {100, 20, 20};
  study::StudyConfig config = with_epochs(3);
  config.data.batch = 32;
  for (const auto& [steps, is_enough] : {std::pair(1, false), {11, false}, {12, true}}) {
    config.budget.steps = steps;
    EXPECT_EQ(check_steps_budget(config, data).ok(), is_enough) << steps;
  }
  config.budget.steps = 1;
  const auto refused = check_steps_budget(config, data);
  EXPECT_EQ(refused.error().where, "budget.steps");
  EXPECT_EQ(refused.error().message,
            "is 1, and a trial has at least 12 steps in its 3 epochs; raise budget.steps to at least 12, or lower "
            "train.epochs");
  config.stop = {"asha", {{"type", "promotion"}}};
  EXPECT_TRUE(check_steps_budget(config, data)) << "the first rung may fit";
  config.stop = {};
  config.data.rules = study::kFirstRules;
  EXPECT_TRUE(check_steps_budget(config, data));
}

TEST(StepsBudget, EndWithoutATrialNamesTheLeastBudget) {
  data::DataSpec data;
  data.split_rows = {100, 20, 20};
  StudyView view;
  view.config = with_epochs(4);
  view.config.data.batch = 50;
  view.config.budget.steps = 5;
  view.end_reason = "budget";
  EXPECT_NE(short_budget_text(view, data).find("budget.steps is 5, and a trial has at least 8 steps"),
            std::string::npos);
  view.end_reason = "guard";
  view.seconds = 6;
  EXPECT_EQ(short_budget_text(view, data), "");
  view.config.budget.guard_minutes = 0.1;
  EXPECT_EQ(short_budget_text(view, data),
            "budget.guard_minutes is 0.1, and no trial has ended in 0.1 minutes; raise budget.guard_minutes "
            "(--minutes), or lower train.epochs");
  view.trials.resize(1);
  view.trials[0].proposal.budget = view.trials[0].proposal.horizon = 4;
  view.trials[0].measurements.resize(1);
  view.trials[0].measurements[0].epoch = 1;
  EXPECT_NE(short_budget_text(view, data)
                .find("one had 25 % of its epochs; set budget.guard_minutes (--minutes) to "
                      "about 0.48"),
            std::string::npos)
      << short_budget_text(view, data);
}

}  // namespace
}  // namespace lanista::engine
