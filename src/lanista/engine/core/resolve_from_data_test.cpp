#include "lanista/engine/core/resolve_from_data.h"

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/io/studyfile/study_file.h"

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

TEST(ResolveFromData, ResolvesOpenSettingsFromData) {
  auto config = *studyfile::read_study("", "s");
  ASSERT_TRUE(resolve_from_data(config, images()));
  EXPECT_EQ(config.model.base, (std::vector<std::string>{"builtin:small-mlp", "builtin:small-cnn"}));
  EXPECT_EQ(goal_names(config), std::vector<std::string>{"val_accuracy"});
  EXPECT_EQ(config.train.measured.metrics, std::vector<std::string>{"accuracy"});

  auto table = *studyfile::read_study("", "s");
  ASSERT_TRUE(resolve_from_data(table, numbers()));
  EXPECT_EQ(table.model.base, std::vector<std::string>{"builtin:small-mlp"});
  EXPECT_EQ(goal_names(table), std::vector<std::string>{"val_loss"});
  EXPECT_FALSE(table.goals.front().maximize);
  EXPECT_EQ(table.train.measured.metrics, std::vector<std::string>{"mae"});
}

TEST(ResolveFromData, ResolvesLossAndMetricsOfLabels) {
  data::DataSpec labels = numbers();
  labels.multilabel = true;
  labels.target_size = 3;
  auto config = *studyfile::read_study("space: {params: {label_smoothing: [0, 0.1]}}", "s");
  ASSERT_TRUE(resolve_from_data(config, labels));
  EXPECT_EQ(loss_name(config, labels), "bce");
  EXPECT_EQ(config.train.measured.metrics, std::vector<std::string>{"accuracy"});
  EXPECT_EQ(goal_names(config), std::vector<std::string>{"val_loss"});
  EXPECT_TRUE(config.space.params.parameters().empty()) << "smoothing is of classes";

  auto measured = *studyfile::read_study("goal: [val_exact_match, val_roc_auc]\ntrain: {loss: bce}", "s");
  ASSERT_TRUE(resolve_from_data(measured, labels));
  EXPECT_EQ(measured.train.measured.metrics, (std::vector<std::string>{"accuracy", "exact_match", "roc_auc"}));

  const auto refused = [](const std::string& text, const data::DataSpec& data, const std::string& message) {
    auto wrong = *studyfile::read_study(text, "s");
    const auto fitted = resolve_from_data(wrong, data);
    ASSERT_FALSE(fitted) << text;
    EXPECT_NE(fitted.error().message.find(message), std::string::npos) << fitted.error().message;
  };
  refused("train: {loss: mse}", labels, "does not fit targets that are labels; allowed: auto, bce");
  refused("train: {loss: bce}", images(), "labels with data option task=multilabel");
  refused("train: {metrics: [mae]}", labels, "metric 'mae' does not fit, it is for numbers");
  refused("train: {metrics: [balanced_accuracy]}", labels,
          "allowed: accuracy, exact_match, f1_macro, log_loss, roc_auc");
  refused("train: {metrics: [exact_match]}", images(), "it is for labels");
  refused("data: {targets: raw}", labels, "those of '' are labels");
}

TEST(ResolveFromData, MeasuresMetricsOfGoalsConstraintsAndRungs) {
  auto config = *studyfile::read_study(
      "goal: [val_f1_macro, minimize val_log_loss, minimize params]\nsubject_to: [val_top3 >= 0.6, val_loss <= 2]\n"
      "stop: {rule: asha, on: val_matthews}\ntrain: {metrics: [top3]}",
      "s");
  const auto fitted = resolve_from_data(config, images());
  ASSERT_TRUE(fitted) << fitted.error().text();
  const std::vector<std::string> wanted{"top3", "f1_macro", "log_loss", "matthews"};
  EXPECT_EQ(config.train.measured.metrics, wanted);
  ASSERT_TRUE(resolve_from_data(config, images()));
  EXPECT_EQ(config.train.measured.metrics, wanted);

  auto usual = *studyfile::read_study("goal: val_roc_auc", "s");
  ASSERT_TRUE(resolve_from_data(usual, images()));
  EXPECT_EQ(usual.train.measured.metrics, (std::vector<std::string>{"accuracy", "roc_auc"}));

  auto listed = *studyfile::read_study("train: {metrics: [top3]}", "s");
  ASSERT_TRUE(resolve_from_data(listed, images()));
  EXPECT_EQ(listed.train.measured.metrics, (std::vector<std::string>{"top3", "accuracy"}))
      << "the default metric is the goal too";

  auto table = *studyfile::read_study("goal: val_quantile90\nsubject_to: val_r2 >= 0.5", "s");
  ASSERT_TRUE(resolve_from_data(table, numbers()));
  EXPECT_EQ(table.train.measured.metrics, (std::vector<std::string>{"mae", "quantile90", "r2"}));
}

TEST(ResolveFromData, MeasuresMetricsOfTheCaller) {
  const std::vector<study::Metric> own{
      {.name = "net_gain", .maximize = true, .compute = [](const auto&) { return 1.0; }}};
  auto config = *studyfile::read_study("goal: maximize val_net_gain", "s");
  auto without = config;
  ASSERT_TRUE(resolve_from_data(config, images(), own));
  EXPECT_EQ(config.train.measured.metrics, (std::vector<std::string>{"accuracy", "net_gain"}));
  EXPECT_FALSE(resolve_from_data(without, images()));

  const std::string rule = "\nstop: {rule: asha, on: val_net_gain}";
  auto rungs = *studyfile::read_study("goal: val_accuracy" + rule, "s");
  const auto refused = resolve_from_data(rungs, images(), own);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "stop.on");
  auto both = *studyfile::read_study("goal: [val_accuracy, maximize val_net_gain]" + rule, "s");
  EXPECT_TRUE(resolve_from_data(both, images(), own));
}

TEST(ResolveFromData, DropsLabelSmoothingForRegression) {
  const auto names = [](const study::StudyConfig& config) {
    std::vector<std::string> out;
    for (const auto& parameter : config.space.params.parameters()) out.push_back(parameter.name);
    return out;
  };
  auto table = *studyfile::read_study(studyfile::default_study(), "s");
  auto classes = table;
  const std::vector<std::string> before = names(table);
  ASSERT_TRUE(resolve_from_data(table, numbers()));
  ASSERT_TRUE(resolve_from_data(classes, images()));
  EXPECT_EQ(names(classes), before);
  std::vector<std::string> wanted = before;
  ASSERT_EQ(std::erase(wanted, "label_smoothing"), 1U);
  EXPECT_EQ(names(table), wanted);
}

TEST(ResolveFromData, SelectsTokenBases) {
  auto spec = numbers();
  spec.classes = spec.vocab = 256;
  auto config = *studyfile::read_study("", "s");
  ASSERT_TRUE(resolve_from_data(config, spec));
  EXPECT_EQ(config.model.base, (std::vector<std::string>{"builtin:small-mlp", "builtin:small-transformer"}));
}

TEST(ResolveFromData, NextTokenUsesPerplexityAndNoFrozenPart) {
  data::DataSpec spec = images();
  spec.features.dims = {16};
  spec.classes = spec.vocab = 256;
  spec.positions = 16;
  auto config = *studyfile::read_study("", "s");
  ASSERT_TRUE(resolve_from_data(config, spec));
  EXPECT_EQ(config.model.base, std::vector<std::string>{"builtin:small-transformer"});
  EXPECT_EQ(config.train.measured.metrics, (std::vector<std::string>{"accuracy", "perplexity"}));
  config.model.frozen = study::FrozenConfig{"%1", "base"};
  const auto refused = resolve_from_data(config, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "model.frozen");
}

TEST(ResolveFromData, ConvertsStepsToEpochs) {
  data::DataSpec spec = images();
  spec.split_rows = {100, 20, 20};
  auto config = *studyfile::read_study("train: {steps: 30}\ndata: {batch: 16}", "s");
  ASSERT_TRUE(resolve_from_data(config, spec));
  EXPECT_EQ(config.train.length.steps_per_epoch, 7);
  EXPECT_EQ(config.train.length.epochs, 5);
  const std::string text = studyfile::write_study(config);
  EXPECT_EQ(studyfile::write_study(*studyfile::read_study(text, "again")), text) << "from here on without the data";

  auto growing = *studyfile::read_study("train: {epochs: 5, all_rows_at: 9}", "s");
  ASSERT_TRUE(resolve_from_data(growing, spec));
  EXPECT_EQ(growing.train.length.all_rows_at, 5) << "a trial that trains to its end reads all rows";

  auto with_steps =
      *studyfile::read_study("train: {steps: 30, steps_per_epoch: 4}\nspace: {params: {batch: [8, 16]}}", "s");
  ASSERT_TRUE(resolve_from_data(with_steps, spec));
  EXPECT_EQ(with_steps.train.length.epochs, 8);

  auto sampled = *studyfile::read_study("train: {steps: 30}\nspace: {params: {batch: [8, 16]}}", "s");
  const auto refused = resolve_from_data(sampled, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "train.steps");
  EXPECT_NE(refused.error().message.find("train.steps_per_epoch"), std::string::npos);

  auto epochs = *studyfile::read_study("train: {epochs: 3}", "s");
  ASSERT_TRUE(resolve_from_data(epochs, spec));
  EXPECT_FALSE(epochs.train.length.steps_per_epoch);
}

// Rungs and the like count these epochs.
TEST(ResolveFromData, AcceptsRulesInEpochsOfSteps) {
  data::DataSpec spec = images();
  spec.split_rows = {100, 20, 20};
  MemoryFileSystem disk;
  const auto strategy_of = [&](const std::string& train) -> Result<std::unique_ptr<search::Strategy>> {
    auto config = *studyfile::read_study("train: {" + train + "}\nstop: {rule: asha, min: 8}", "s");
    LANISTA_TRY(resolve_from_data(config, spec));
    LANISTA_ASSIGN(auto models, make_model_space(config, spec, ".", disk));
    return make_strategy(config, models);
  };
  EXPECT_TRUE(strategy_of("steps: 80, steps_per_epoch: 10"));
  const auto few = strategy_of("steps: 70, steps_per_epoch: 10");
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message, strategy_of("epochs: 7").error().message);
  EXPECT_EQ(few.error().where, strategy_of("epochs: 7").error().where);
}

// The stored configuration has it, so that a later default does not change a study.
TEST(ResolveFromData, ReportsTargetNormalization) {
  data::DataSpec raw = numbers(), standard = numbers();
  standard.target_normalization = {.mean = {3}, .scale = {2}};
  for (const auto& [spec, expected] : {std::pair(raw, "raw"), std::pair(standard, "standardize")}) {
    auto config = *studyfile::read_study("", "s");
    EXPECT_EQ(config.data.targets, "auto");
    ASSERT_TRUE(resolve_from_data(config, spec));
    EXPECT_EQ(config.data.targets, expected);
    const std::string text = studyfile::write_study(config);
    EXPECT_NE(text.find("  targets: \"" + std::string(expected) + "\"\n"), std::string::npos) << text;
    EXPECT_EQ(studyfile::read_study(text, "again")->data.targets, expected);
  }
  auto config = *studyfile::read_study("", "s");
  ASSERT_TRUE(resolve_from_data(config, images()));
  EXPECT_EQ(studyfile::write_study(config).find("targets"), std::string::npos) << "studies of classes are as they were";
}

TEST(ResolveFromData, IsIdempotent) {
  auto once = *studyfile::read_study(studyfile::default_study(), "s");
  ASSERT_TRUE(resolve_from_data(once, images()));
  auto twice = *studyfile::read_study(studyfile::write_study(once), "s");
  ASSERT_TRUE(resolve_from_data(twice, images()));

  EXPECT_EQ(studyfile::write_study(once), studyfile::write_study(twice));
}

TEST(ResolveFromData, RefusesSettingsUnlikeTheData) {
  struct Case {
    std::string text, where, message;
  };
  const std::vector<Case> cases{{"goal: maximize val_acuracy", "goal", "did you mean 'val_accuracy'?"},
                                {"goal: minimize val_mae", "goal", "measured: train_loss, val_loss, val_accuracy"},
                                {"goal: minimize val_mae", "goal", "metric 'mae' does not fit, it is for numbers"},
                                {"goal: maximize val_f1_makro", "goal", "did you mean 'val_f1_macro'?"},
                                {"subject_to: val_r2 >= 0.5", "subject_to", "metric 'r2' does not fit"},
                                {"stop: {rule: asha, on: val_f1}", "stop.on", "'val_f1' is not measured"},
                                {"train: {metrics: [mae]}", "train.metrics", "does not fit"},
                                {"data: {augment: [flip, {crop: {pad: 8}}]}", "data.augment[1].pad",
                                 "crop: 8 pixels are too many for images of shape [1, 8, 8]"},
                                {"train: {loss: mse}", "train.loss", "allowed: auto, cross_entropy"},
                                {"data: {targets: raw}", "data.targets", "'raw' is for targets that are numbers"},
                                {"data: {targets: standardize}", "data.targets", "are classes; allowed: auto"}};
  for (const auto& each : cases) {
    auto config = *studyfile::read_study(each.text, "s");
    const auto fitted = resolve_from_data(config, images());
    ASSERT_FALSE(fitted) << each.text;
    EXPECT_EQ(fitted.error().code, Code::kInvalidArgument);
    EXPECT_EQ(fitted.error().where, each.where);
    EXPECT_NE(fitted.error().message.find(each.message), std::string::npos) << fitted.error().message;
  }
  data::DataSpec tokens = images();
  tokens.features = {{8}};
  tokens.vocab = 256;
  auto config = *studyfile::read_study("data: {targets: standardize}", "s");
  EXPECT_NE(resolve_from_data(config, tokens).error().message.find("are tokens; allowed: auto"), std::string::npos);
}

TEST(MetricsDefined, RefusesGoalsAndWarnsOfOthers) {
  bool refused = false, warned = false;
  for (int rare = 0; rare < 40; ++rare) {  // which row is rare decides in which part it is
    MemoryFileSystem disk;
    std::string table = "a,y\n";
    for (int i = 0; i < 60; ++i) table += std::to_string(i) + (i == rare ? ",rare\n" : ",usual\n");
    disk.put("/t.csv", table);
    auto config = *studyfile::read_study("data: {source: 'csv:/t.csv'}\ngoal: val_roc_auc", "s");
    const auto data = data::open(config.data, "", disk);
    ASSERT_TRUE(data) << data.error().text();
    ASSERT_TRUE(resolve_from_data(config, data->spec()));
    const auto checked = check_metrics_defined(config, *data);
    if (checked) {
      warned = true;
      ASSERT_EQ(checked->size(), 1U);
      EXPECT_EQ(checked->front(),
                "test_roc_auc is undefined for every trial: the test part has no row of class \"rare\"");
      continue;
    }
    refused = true;
    EXPECT_EQ(checked.error().where, "goal");
    EXPECT_NE(checked.error().message.find(
                  "'val_roc_auc' is undefined for every trial: the validation part has no row of class \"rare\""),
              std::string::npos)
        << checked.error().message;
    config.goals = {{false, "val_loss"}};
    const auto notes = check_metrics_defined(config, *data);
    ASSERT_TRUE(notes);
    EXPECT_FALSE(notes->empty()) << "it is measured";
  }
  // A stratified split gives the one row of a class to the training part or to another, whichever: one of both occurs.
  EXPECT_TRUE(refused || warned);
}

}  // namespace
}  // namespace lanista::engine
