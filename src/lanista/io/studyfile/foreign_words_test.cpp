#include "lanista/io/studyfile/foreign_words.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lanista/io/studyfile/study_file.h"
#include "support/io/studyfile/test_support.h"

namespace lanista::studyfile {
namespace {

using testing::errors_of;

/// The mistakes of a file without keys with one override.
std::string error_of_set(const std::string& key, const std::string& value) {
  const auto read = read_study("", "s.yaml", {{key, value}});
  return read ? "" : read.error().message;
}

TEST(ForeignWords, EveryExampleIsValid) {
  for (const ForeignSetting& setting : foreign_settings()) {
    if (setting.key.empty()) continue;
    EXPECT_EQ(errors_of(example_line(setting)), "") << example_line(setting);
    EXPECT_EQ(error_of_set(std::string(setting.key), std::string(setting.value)), "") << example_line(setting);
    EXPECT_TRUE(example_option(setting, false).starts_with("--set ")) << setting.key;
  }
}

TEST(ForeignWords, TableHasCompactWords) {
  std::map<std::string, int> settings_of_word;
  for (const ForeignSetting& setting : foreign_settings()) {
    const std::string words = std::string(setting.words) + " ";
    EXPECT_EQ(words.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789 "), std::string::npos) << words;
    for (std::size_t begin = 0; begin < words.size();) {
      const std::size_t end = words.find(' ', begin);
      EXPECT_GT(end, begin) << "two spaces in: " << words;
      ++settings_of_word[words.substr(begin, end - begin)];
      begin = end + 1;
    }
  }
  // Of these words other tools have two meanings.
  const std::set<std::string> twofold{"maxiter", "niter", "scheduler", "steps"};
  for (const auto& [word, count] : settings_of_word) EXPECT_EQ(count, twofold.contains(word) ? 2 : 1) << word;
}

TEST(ForeignWords, IgnoreCaseAndSeparators) {
  for (const char* word : {"learning_rate", "learning-rate", "learningRate", "LEARNING RATE", "lr"}) {
    const auto meant = settings_meant_by(word);
    ASSERT_EQ(meant.size(), 1U) << word;
    EXPECT_EQ(meant.front().key, "train.lr") << word;
  }
  EXPECT_TRUE(settings_meant_by("").empty());
  EXPECT_TRUE(settings_meant_by("colour").empty());
}

TEST(ForeignWords, LeadToOurKeyAtAnyPlace) {
  const std::string lr = "the learning rate is train.lr, for instance train: {lr: 0.01}";
  EXPECT_EQ(errors_of("learning_rate: 0.1"), "s.yaml:1:1: learning_rate: unknown key 'learning_rate'; " + lr);
  EXPECT_EQ(errors_of("train: {learning_rate: 0.1}"),
            "s.yaml:1:9: train.learning_rate: unknown key 'learning_rate'; " + lr);
  EXPECT_EQ(errors_of("strategy: {name: random, learning_rate: 0.1}"),
            "s.yaml:1:26: strategy.learning_rate: unknown option 'learning_rate'; " + lr);
  EXPECT_EQ(errors_of("space: {params: {learning_rate: 0.1}}"),
            "s.yaml:1:18: space.params.learning_rate: unknown key 'learning_rate'; did you mean 'lr'?");
  EXPECT_EQ(
      error_of_set("train.learning_rate", "0.1"),
      "--set train.learning_rate: train.learning_rate: unknown key 'learning_rate'; the learning rate is train.lr, "
      "for instance --set train.lr=0.01");
  // A slip of a key of the same section counts first.
  EXPECT_EQ(errors_of("train: {scheduler: cosine}"),
            "s.yaml:1:9: train.scheduler: unknown key 'scheduler'; did you mean 'schedule'?");
  EXPECT_EQ(errors_of("train: {metric: accuracy}"),
            "s.yaml:1:9: train.metric: unknown key 'metric'; did you mean 'metrics'?");
  EXPECT_EQ(errors_of("data: {target: price}"),
            "s.yaml:1:8: data.target: unknown key 'target'; the column to predict is an option of data.source, for "
            "instance data: {source: \"csv:table.csv?target=price\"}");
  EXPECT_EQ(errors_of("learnin_rate: 0.1"), "s.yaml:1:1: learnin_rate: unknown key 'learnin_rate'; " + lr);
}

TEST(ForeignWords, LeadToHyperParametersOfTheSpace) {
  EXPECT_EQ(errors_of("space: {lr: log(0.001, 0.1)}"),
            "s.yaml:1:9: space.lr: unknown key 'lr' here; it is space.params.lr; write space: {params: {lr: …}}");
  EXPECT_EQ(errors_of("space: {batch_size: [16, 32]}"),
            "s.yaml:1:9: space.batch_size: unknown key 'batch_size' here; it is space.params.batch; write space: "
            "{params: {batch: …}}");
  EXPECT_EQ(errors_of("train: {lr: log(0.001, 0.1)}"),
            "s.yaml:1:13: train.lr: expected a number, not \"log(0.001, 0.1)\"; to vary it, write space: {params: {lr: "
            "log(0.001, 0.1)}}");
  EXPECT_EQ(errors_of("data: {batch: [16, 32]}"),
            "s.yaml:1:15: data.batch: expected a whole number, not [16,32]; to vary it, write space: {params: {batch: "
            "[16,32]}}");
  EXPECT_EQ(errors_of("train: {epochs: [3, 9]}"), "s.yaml:1:17: train.epochs: expected a whole number, not [3,9]");
}

TEST(ForeignWords, NamePluginThatIsWrittenAsKey) {
  EXPECT_EQ(errors_of("stop: {asha: {rungs: [3]}}"),
            "s.yaml:1:8: stop.asha: unknown option 'asha'; it is a value of stop.rule; write stop: {rule: asha}");
  EXPECT_EQ(
      errors_of("strategy: {tpe: {}}"),
      "s.yaml:1:12: strategy.tpe: unknown option 'tpe'; it is a value of strategy.name; write strategy: {name: tpe}");
}

TEST(ForeignWords, LeadNowhereElse) {
  EXPECT_EQ(errors_of("layers: 3"),
            "s.yaml:1:1: layers: unknown key 'layers'; the layers of a model are in model.space, for instance model: "
            "{space: {layers: [flatten, {linear: {out: 64}}, relu, {linear: {out: classes}}]}}");
  EXPECT_EQ(errors_of("n_estimators: 3").find("s.yaml:1:1: n_estimators: unknown key 'n_estimators'; known: "), 0U);
}

TEST(ForeignWords, SectionsAreMappings) {
  EXPECT_EQ(errors_of("data: digits"),
            "s.yaml:1:7: data: a mapping of settings is wanted here, such as data: {source: …}");
  EXPECT_EQ(errors_of("stop: [asha]"),
            "s.yaml:1:7: stop: a mapping of settings is wanted here, such as stop: {rule: …}");
  EXPECT_EQ(errors_of("stop: {name: asha}"), "s.yaml:1:8: stop.name: unknown option 'name'; it is stop.rule");
}

TEST(ForeignWords, NameBothMeanings) {
  EXPECT_EQ(
      errors_of("max_iter: 100"),
      "s.yaml:1:1: max_iter: unknown key 'max_iter'; the number of epochs of a trial is train.epochs, for instance "
      "train: {epochs: 9}; the number of trials is budget.trials, for instance budget: {trials: 60}");
}

TEST(ForeignWords, ShortFormOfStop) {
  EXPECT_EQ(read_study("stop: asha", "s.yaml")->stop.rule, "asha");
  EXPECT_EQ(read_study("stop: none", "s.yaml")->stop.rule, "none");
  EXPECT_EQ(errors_of("stop: ashaa").find("s.yaml:1:7: stop.rule: 'ashaa' is not known; "), 0U);
  const auto set = read_study("stop: asha", "s.yaml", {{"stop.eta", "4"}});
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(set->stop.rule, "asha");
  EXPECT_EQ(set->stop.options.at("eta"), 4);
}

TEST(ForeignWords, NameOptionThatChoseTheRule) {
  const auto read = read_study("stop: {rule: asha, rungs: [3]}", "s.yaml", {{"stop.rule", "none"}});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(
      read.error().message,
      "--set stop.rule: stop.rule: 'none' has no option 'rungs', which is set at s.yaml:1:20; write --set stop=none "
      "to replace the whole section");
  EXPECT_TRUE(read_study("stop: {rule: asha, rungs: [3]}", "s.yaml", {{"stop", "none"}}).ok());
}

TEST(ForeignWords, SeveralGoalsAreAList) {
  const std::string advice = " has several goals; write a list: goal: [maximize val_accuracy, minimize params]";
  for (const std::string goal :
       {"maximize val_accuracy, minimize params", "maximize val_accuracy; minimize params",
        "maximize val_accuracy and minimize params", "maximize val_accuracy minimize params"}) {
    EXPECT_EQ(errors_of("goal: \"" + goal + "\""), "s.yaml:1:7: goal: '" + goal + "'" + advice);
  }
  EXPECT_EQ(read_study("goal: [maximize val_accuracy, minimize params]", "s.yaml")->goals.size(), 2U);
  EXPECT_EQ(errors_of("goal: {metric: val_accuracy}"),
            "s.yaml:1:7: goal: a text is wanted here, such as goal: maximize val_accuracy");
}

TEST(ForeignWords, MinutesHaveTwoNames) {
  for (const char* name : {"minutes", "guard_minutes"}) {
    const std::string text = std::string("budget: {") + name + ": 3}";
    const auto read = read_study(text, "s.yaml");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->budget.guard_minutes, 3);
    // Stored texts keep the older name.
    EXPECT_NE(write_study(*read).find("\n  guard_minutes: 3.0\n"), std::string::npos) << write_study(*read);
    EXPECT_EQ(read_stored_study(write_study(*read), "s.yaml")->budget.guard_minutes, 3);
    for (const char* other : {"budget.minutes", "budget.guard_minutes"}) {
      const auto set = read_study(text, "s.yaml", {{other, "4"}});
      ASSERT_TRUE(set.ok()) << set.error().message;
      EXPECT_EQ(set->budget.guard_minutes, 4);
    }
  }
  EXPECT_EQ(errors_of("budget: {minutes: 3, guard_minutes: 3}"),
            "s.yaml:1:22: budget.guard_minutes: is another name of budget.minutes, which is given too; leave out "
            "budget.guard_minutes");
  EXPECT_EQ(errors_of("budget: {guard_minutes: 3, minutes: 3}"),
            "s.yaml:1:10: budget.guard_minutes: is another name of budget.minutes, which is given too; leave out "
            "budget.guard_minutes");
}

}  // namespace
}  // namespace lanista::studyfile
