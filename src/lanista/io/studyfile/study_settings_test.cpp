// Single settings of a study file: read, written again, and refused where they are invalid.
#include <gtest/gtest.h>

#include "lanista/io/studyfile/study_file.h"
#include "support/io/studyfile/test_support.h"

namespace lanista::studyfile {
namespace {

using testing::errors_of;

TEST(StudyFile, ReadsEpochSelection) {
  const auto keep = [](const std::string& text) { return read_study(text, "s.yaml")->train.measured.keep; };
  EXPECT_EQ(keep("train: {epochs: 3}\n"), study::kKeepBestEpoch);
  EXPECT_EQ(keep("train: {keep: last}\n"), study::kKeepLast);
  for (const std::string_view value : {study::kKeepBestEpoch, study::kKeepLast}) {
    study::StudyConfig config;
    config.train.measured.keep = value;
    const std::string text = write_study(config);
    EXPECT_EQ(keep(text), value);
    EXPECT_EQ(read_stored_study(text, "s.yaml")->train.measured.keep, value);
    const std::string line = "  keep: \"" + std::string(value) + "\"\n";
    ASSERT_NE(text.find(line), std::string::npos) << "whatever it is: a file without it is of an older build";
    std::string old = text;
    old.erase(old.find(line), line.size());
    EXPECT_EQ(read_stored_study(old, "s.yaml")->train.measured.keep, study::kKeepLast);
    EXPECT_EQ(keep(old), study::kKeepBestEpoch);
  }
}

TEST(StudyFile, ReadsTieRule) {
  const auto ties = [](const std::string& text) { return read_study(text, "s.yaml")->train.measured.ties; };
  EXPECT_EQ(ties("train: {epochs: 3}\n"), study::kTiesByLoss);
  for (const std::string_view value : {study::kTiesByLoss, study::kTiesToEarlier}) {
    study::StudyConfig config;
    config.train.measured.ties = value;
    const std::string text = write_study(config);
    EXPECT_EQ(ties(text), value);
    EXPECT_EQ(read_stored_study(text, "s.yaml")->train.measured.ties, value);
    const std::string line = "  ties: \"" + std::string(value) + "\"\n";
    ASSERT_NE(text.find(line), std::string::npos) << "whatever it is: a file without it is of an older build";
    std::string old = text;
    old.erase(old.find(line), line.size());
    EXPECT_EQ(read_stored_study(old, "s.yaml")->train.measured.ties, study::kTiesToEarlier);
  }
}

TEST(StudyFile, KeepsConstraintsAndRepeats) {
  const auto config = read_study(
      "subject_to: [val_loss <= 1, \"params <= 50k\"]\n"
      "strategy: {name: tpe, repeat: 3, average: median, retry: 1}\n"
      "goal: [maximize val_accuracy, minimize params]\n",
      "s.yaml");
  ASSERT_TRUE(config.ok()) << config.error().text();
  const auto again = read_study(write_study(*config), "again.yaml");
  ASSERT_TRUE(again.ok()) << again.error().text();
  for (const study::StudyConfig& each : {*config, *again}) {
    ASSERT_EQ(each.subject_to.size(), 2U);
    EXPECT_EQ(each.subject_to[1].text(), "params <= 50k");
    EXPECT_EQ(each.strategy.repeat, 3);
    EXPECT_EQ(each.strategy.average, "median");
    EXPECT_EQ(each.strategy.retry, 1);
  }
  EXPECT_EQ(read_study("subject_to: val_loss < 1", "s.yaml").error().message,
            "s.yaml:1:13: subject_to: 'val_loss < 1' is no constraint: at '< 1', '<=' or '>=' is wanted");
  EXPECT_FALSE(read_study("strategy: {repeat: 0}", "s.yaml").ok());
  EXPECT_FALSE(read_study("strategy: {average: mode}", "s.yaml").ok());
}

TEST(StudyFile, AcceptsStrategyNameAlone) {
  EXPECT_EQ(read_study("strategy: tpe\n", "toy.yaml")->strategy.name, "tpe");
  const auto wrong = read_study("strategy: tpo\n", "toy.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message.substr(0, 45), "toy.yaml:1:11: strategy.name: 'tpo' is not kn");
}

constexpr const char* kFrozenStudy = "model: {base: a.onnx, frozen: {through: \"%4\", weights: base}}\n";

TEST(StudyFile, ReadsFrozenPart) {
  const auto config = read_study(kFrozenStudy, "study.yaml");
  ASSERT_TRUE(config) << config.error().text();
  ASSERT_TRUE(config->model.frozen);
  EXPECT_EQ(config->model.frozen->through, "%4");
  EXPECT_EQ(config->model.frozen->weights, "base");

  const auto again = read_study(write_study(*config), "again.yaml");
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_TRUE(again->model.frozen);
  EXPECT_EQ(again->model.frozen->through, "%4");
  EXPECT_EQ(write_study(*again), write_study(*config));
}

TEST(StudyFile, RefusesUnknownFrozenPart) {
  const auto error_text = [](const std::string& text) {
    const auto config = read_study(text, "study.yaml");
    return config ? std::string("nothing") : config.error().text();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = error_text("model: {base: a.onnx, frozen: {thruogh: x, weights: base}}\n");
  EXPECT_TRUE(has(text, "through") && has(text, "study.yaml:1:") && has(text, "model.frozen.through")) << text;
  text = error_text("model: {base: a.onnx, frozen: {through: x}}\n");
  EXPECT_TRUE(has(text, "model.frozen.weights")) << text;
  text = error_text("model: {base: [a.onnx, b.onnx], frozen: {through: x, weights: base}}\n");
  EXPECT_TRUE(has(text, "one base model")) << text;
  text = error_text("model: {base: a.onnx, frozen: {through: x, weights: base}}\ntrain: {precision: float64}\n");
  EXPECT_TRUE(has(text, "float32")) << text;
  text = error_text("model: {base: a.onnx, frozen: 3}\n");
  EXPECT_TRUE(has(text, "a mapping")) << text;
}

TEST(StudyFile, ReadsLrFactorsOfParts) {
  const auto config = read_study("model: {base: a.onnx}\ntrain: {rates: {base: 0.1, \"%4\": 0.01}}\n", "study.yaml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->train.optimizer.rates, (std::map<std::string, double>{{"base", 0.1}, {"%4", 0.01}}));
  const auto again = read_study(write_study(*config), "again.yaml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->train.optimizer.rates, config->train.optimizer.rates);
  EXPECT_EQ(write_study({}).find("rates"), std::string::npos);
  EXPECT_TRUE(read_study("train: {rates: none}\n", "study.yaml")->train.optimizer.rates.empty());
  EXPECT_TRUE(read_study("train: {rates: {head: 10}}\n", "study.yaml").ok()) << "every model has one";
}

TEST(StudyFile, RefusesInvalidLrFactors) {
  const auto error_text = [](const std::string& text) {
    const auto config = read_study(text, "s.yaml");
    return config ? std::string("nothing") : config.error().message;
  };
  EXPECT_EQ(error_text("train: {rates: 0.1}\n"),
            "s.yaml:1:16: train.rates: a mapping such as {base: 0.1} is wanted here: parts of the model, and factors");
  EXPECT_EQ(error_text("train:\n  rates:\n    base: 0\n"),
            "s.yaml:3:11: train.rates.base: is 0, which trains nothing; model.frozen sets what is not trained");
  EXPECT_EQ(error_text("train: {rates: {head: -1}}\n"),
            "s.yaml:1:23: train.rates.head: is -1; it must be above 0, and at most 1000000");
  EXPECT_EQ(error_text("train: {rates: {head: much}}\n"),
            "s.yaml:1:23: train.rates.head: a factor of the learning rate is wanted here, a number above 0");
  EXPECT_EQ(
      error_text("model: {base: [a.onnx, b.onnx]}\ntrain: {rates: {stem: 0.5}}\n"),
      "s.yaml:2:23: train.rates.stem: names a node, which needs one base model, named by model.base; base and head "
      "are parts of every model");
}

TEST(StudyFile, ReadsPruningRules) {
  const std::string space = "space: {params: {lr: [0.1, 0.2], optimizer: [sgd, adam]}}\n";
  const auto config = read_study(space +
                                     "implied:\n  - {when: diverged, along: lr, direction: up}\n"
                                     "strategy: {name: grid, order: informative, group: 8}\n",
                                 "mine.yaml");

  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_EQ(config->implied.size(), 1U);
  EXPECT_EQ(config->implied.front(), (study::PruningRule{"diverged", "lr", true}));
  EXPECT_EQ(config->strategy.order, "informative");
  EXPECT_EQ(config->strategy.group, 8);
  const auto again = read_study(write_study(*config), "again.yaml");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->implied, config->implied);
}

TEST(StudyFile, ReportsInvalidRule) {
  const std::string space = "space: {params: {lr: [0.1, 0.2], optimizer: [sgd, adam]}}\n";
  const auto refusal = [&](const std::string& rule) {
    const auto config = read_study(space + "implied:\n  - " + rule + "\n", "mine.yaml");
    return config ? "" : config.error().message;
  };

  EXPECT_EQ(
      refusal("{when: divergd, along: lr, direction: up}"),
      "mine.yaml:3:12: implied[0].when: 'divergd' is no event; one of diverged, out_of_memory, decided; did you mean "
      "'diverged'?");
  EXPECT_EQ(refusal("{when: diverged, along: batch, direction: up}"),
            "mine.yaml:3:29: implied[0].along: 'batch' is no parameter of the space; there are lr, optimizer");
  EXPECT_EQ(
      refusal("{when: diverged, along: optimizer, direction: up}"),
      "mine.yaml:3:29: implied[0].along: 'optimizer' is choice(sgd, adam), which has no order; a range, or choices "
      "that are all numbers");
  EXPECT_EQ(refusal("up"),
            "mine.yaml:3:5: implied[0]: \"up\" is not allowed; a rule is {when: EVENT, along: PARAMETER, "
            "direction: up or down}");
}

TEST(StudyFile, ReadsRungRuleAndRefusesMisuse) {
  const std::string rule = "implied: [{when: decided}]\n",
                    good = "train: {ties: earlier}\ngoal: maximize val_accuracy\n";
  const std::string halving = "stop: {rule: hyperband}\n";
  const auto refusal = [](const std::string& text) {
    const auto config = read_study(text, "mine.yaml");
    return config ? "" : config.error().message;
  };

  const auto config = read_study(rule + good + halving, "mine.yaml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(read_study(write_study(*config), "again.yaml")->implied, config->implied);

  const std::string where = "mine.yaml:1:18: implied[0].when: 'decided' ";
  EXPECT_EQ(refusal(rule + good + "stop: {rule: asha}\n"),
            where +
                "needs rungs with trials that wait for each other, stop.rule hyperband or successive_halving; "
                "it is asha");
  EXPECT_TRUE(refusal(rule + good).starts_with(where + "needs rungs"));
  EXPECT_EQ(refusal(rule + "goal: maximize val_accuracy\n" + halving),
            where +
                "needs train.ties earlier: of two trials with the best goal value one could still have the lower loss; "
                "it is loss");
  EXPECT_EQ(refusal(rule + "train: {ties: earlier}\ngoal: minimize val_loss\n" + halving),
            where + "needs a goal with a best value, such as 1 for accuracy; none is declared for val_loss");
  EXPECT_TRUE(refusal(rule + "train: {ties: earlier, keep: last}\ngoal: maximize val_accuracy\n" + halving)
                  .starts_with(where + "needs train.keep best_epoch"));
  EXPECT_EQ(refusal(rule + "train: {ties: earlier}\ngoal: [maximize val_accuracy, minimize params]\n" + halving),
            where + "needs one goal, by which rungs are judged as well");
}

const std::string kWithProgram = "budget: {trials: 2}\ncluster: {ssh: [node1], program: sh}\n";

// A study file may come from another person: it must not select the program that workers run.
TEST(ClusterProgram, IsRefusedInAStudyFile) {
  const auto read = read_study(kWithProgram, "s.yaml");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("s.yaml:2:25: cluster.program: is not allowed in a study file"),
            std::string::npos)
      << read.error().message;
  EXPECT_NE(read.error().message.find("--program PATH"), std::string::npos) << read.error().message;
  EXPECT_FALSE(read_study("budget: {trials: 2}\n", "s.yaml", {{"cluster.program", "sh"}}).ok());
  EXPECT_FALSE(read_study("budget: {trials: 2}\ncluster: {program: {a: [b]}}\n", "s.yaml").ok());
}

TEST(ClusterProgram, IsIgnoredInAStoredStudy) {
  const auto read = read_stored_study(kWithProgram, "config.resolved.yaml");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->ignored, std::vector<std::string>{"cluster.program"});
  EXPECT_EQ(read->cluster.ssh, std::vector<std::string>{"node1"});
  EXPECT_EQ(write_study(*read).find("program"), std::string::npos);
  EXPECT_TRUE(read_stored_study("budget: {trials: 2}\n", "config.resolved.yaml")->ignored.empty());
}

TEST(ClusterProgram, IsInNeitherSchemaNorHelp) {
  EXPECT_FALSE(study_json_schema()["properties"]["cluster"]["properties"].contains("program"));
}

}  // namespace
}  // namespace lanista::studyfile
