#include "lanista/io/studyfile/tuning.h"

#include <gtest/gtest.h>

#include <tuple>

#include "lanista/base/memory_file_system.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning_space.h"

namespace lanista::studyfile {
namespace {

std::string error_text(const std::string& text) {
  const auto read = read_study(text, "s.yaml");
  return read ? "" : read.error().text();
}

void expect_within(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Tune, IsReadAndWritten) {
  EXPECT_EQ(write_study(*read_study("", "s")).find("tune"), std::string::npos);
  const auto config =
      read_study("train: {tune: {mltuner: {params: {lr: log(1e-4, 1), momentum: [0, 0.9]}, time: 4}}}", "s.yaml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->train.tune.name, "mltuner");
  EXPECT_EQ(config->train.tune.options.at("params").at("lr"), "log(1e-04, 1)");
  EXPECT_EQ(config->train.tune.options.at("time"), 4);

  const auto again = read_stored_study(write_study(*config), "s.yaml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->train.tune.options, config->train.tune.options);
  const auto space = tune_space(again->train.tune.options);
  ASSERT_TRUE(space);
  ASSERT_EQ(space->parameters().size(), 2U);
  EXPECT_EQ(space->parameters()[0].name, "lr");
  EXPECT_EQ(space::domain_text(space->parameters()[0].domain), "log(1e-04, 1)");
}

// Version 0.1.0 stored every option. At its default one does not count, so such a study is resumed as before.
TEST(Tune, ListsRemovedOptionsOfStoredStudies) {
  const std::string text =
      "train:\n  tune: {mltuner: {\"again\":1.0,\"age\":0.25,\"best\":4,\"diverged\":10.0,\"halving\":2,\"on\":\"\","
      "\"paired\":true,\"params\":{\"lr\":\"log(1e-04, 1)\"},\"progress\":false,\"reach\":20.0,\"retune\":2,"
      "\"searcher\":\"sobol\",\"second_look\":1.0,\"sequential\":0.0,\"sure\":0.0,\"time\":4,\"together\":8,"
      "\"trials\":6,\"undo\":0.0,\"unstable\":0.1,\"windows\":10,\"within\":0.1}}\n";
  const auto stored = read_stored_study(text, "s.yaml");
  ASSERT_TRUE(stored) << stored.error().text();
  EXPECT_TRUE(stored->removed.empty()) << stored->removed.front();
  EXPECT_FALSE(stored->train.tune.options.contains("windows"));
  EXPECT_EQ(stored->train.tune.options.at("trials"), 6);
  for (const auto& [from, to, key, value] : {std::tuple("\"halving\":2", "\"halving\":0", "halving", "0 "),
                                             std::tuple("sobol", "marginal", "searcher", "marginal "),
                                             std::tuple("\"again\":1.0", "\"again\":2.0", "again", ""),
                                             std::tuple("\"paired\":true", "\"paired\":false", "paired", ""),
                                             std::tuple("\"progress\":false", "\"progress\":true", "progress", ""),
                                             std::tuple("\"sure\":0.0", "\"sure\":2.0", "sure", ""),
                                             std::tuple("\"undo\":0.0", "\"undo\":1.0", "undo", "")}) {
    std::string changed = text;
    changed.replace(changed.find(from), std::string_view(from).size(), to);
    const auto used = read_stored_study(changed, "s.yaml");
    ASSERT_TRUE(used) << used.error().text();
    ASSERT_EQ(used->removed.size(), 1U) << key;
    const std::string begin = "train.tune.mltuner." + std::string(key),
                      end = std::string(value) + "was removed in 0.2.0";
    EXPECT_EQ(used->removed.front().rfind(begin + " " + end, 0), 0U) << used->removed.front();
    expect_within(begin + ": " + end, error_text(changed));
  }
}

TEST(Tune, RefusesUntunableParameters) {
  expect_within("'width' cannot change while a trial trains; what can: lr, momentum",
                error_text("train: {tune: {mltuner: {params: {width: [1, 2]}}}}"));
  expect_within("a list of multiples of data.batch",
                error_text("train: {tune: {mltuner: {params: {batch: int(16, 32)}}}}"));
  expect_within("a batch of 48 is no multiple of 32",
                error_text("train: {tune: {mltuner: {params: {batch: [32, 48]}}}}"));
  expect_within("not a number", error_text("train: {tune: {mltuner: {params: {lr: [fast]}}}}"));
  expect_within("a range such as log(1e-3, 0.5)", error_text("train: {tune: {mltuner: {params: {lr: fast}}}}"));
  expect_within("at least one setting", error_text("train: {tune: {mltuner: {params: {}}}}"));
  expect_within("params", error_text("train: {tune: mltuner}"));
  expect_within("mltuner, schedule", error_text("train: {tune: [1]}"));
}

TEST(Tune, RefusesConflictingSettings) {
  const std::string tune = "tune: {mltuner: {params: {lr: log(1e-3, 1)}}}";
  expect_within("train.schedule must be constant", error_text("train: {schedule: cosine, " + tune + "}"));
  expect_within("without warm-up", error_text("train: {warmup_epochs: 1, " + tune + "}"));
  expect_within("train.select", error_text("train: {select: selective, " + tune + "}"));
  expect_within("cannot vary in addition to it",
                error_text("{train: {" + tune + "}, space: {params: {schedule: [constant, cosine]}}}"));
  const std::string batches = "tune: {mltuner: {params: {batch: [32, 64]}}}";
  expect_within("batch cannot vary in addition to it",
                error_text("{train: {" + batches + "}, space: {params: {batch: [32, 64]}}}"));
  EXPECT_EQ(error_text("train: {" + batches + "}"), "");
  EXPECT_EQ(error_text("train: {schedule: cosine, tune: {mltuner: {params: {momentum: range(0, 0.9)}}}}"), "");
}

TEST(Tune, StrategyMltunerExpandsToTune) {
  const auto config = read_study(
      "{model: {base: builtin:small-cnn}, strategy: {name: mltuner, params: {lr: log(1e-3, 1)}, end: 7}}", "s");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->train.tune.name, "mltuner");
  EXPECT_EQ(config->strategy.name, "random");
  EXPECT_EQ(config->stop.rule, "patience");
  EXPECT_EQ(config->stop.options.at("epochs"), 7);
  EXPECT_EQ(config->strategy.options.at("again"), true);
  EXPECT_EQ(config->budget.trials, 4);
  const std::string three =
      "model: {base: [builtin:small-cnn, builtin:small-mlp]}, strategy: {name: mltuner, params: {lr: 0.1}}";
  EXPECT_EQ(read_study("{" + three + "}", "s")->budget.trials, 8) << "four a model";
  EXPECT_EQ(read_study("{" + three + "}", "s")->stop.options.at("epochs"), kDefaultEndEpochs);
  EXPECT_EQ(read_study("{" + three + ", budget: {trials: 7}}", "s")->budget.trials, 7);
  EXPECT_EQ(read_study("{" + three + ", budget: {steps: 9000}}", "s")->budget.trials, study::BudgetConfig{}.trials);
  EXPECT_EQ(read_study("{" + three + "}", "s")->train.length.epochs, 100) << "patience ends it, no count of epochs";
  EXPECT_EQ(read_study("{" + three + ", train: {epochs: 5}}", "s")->train.length.epochs, 5);
  EXPECT_EQ(read_study("{" + three + ", train: {steps: 50}}", "s")->train.length.epochs,
            study::TrainConfig{}.length.epochs);
  EXPECT_EQ(read_study("{" + three + ", stop: {rule: asha}}", "s")->train.length.epochs,
            study::TrainConfig{}.length.epochs);
  for (const char* several : {", data: {folds: 3}}", ", strategy: {name: mltuner, params: {lr: 0.1}, repeat: 2}}"}) {
    std::string text = "{" + three + several;
    if (text.find("repeat") != std::string::npos) text = std::string("{") + (several + 2);
    const auto folded = read_study(text, "s");
    ASSERT_TRUE(folded) << folded.error().text();
    EXPECT_EQ(folded->strategy.options.at("again"), false) << "they are trained several times as it is";
    EXPECT_EQ(folded->budget.trials, std::ssize(folded->model.base));
  }
  expect_within("and so does strategy.repeat", error_text("{strategy: {name: random, again: true, repeat: 2}}"));
  expect_within("and so does data.folds", error_text("{strategy: {name: random, again: true}, data: {folds: 2}}"));
  expect_within("and so does strategy.retry", error_text("{strategy: {name: random, again: true, retry: 1}}"));
  expect_within("params", error_text("strategy: mltuner"));
  expect_within("strategy.name",
                error_text("{strategy: {name: mltuner, params: {lr: 0.1}}, space: {mutate: [widen]}}"));
  const std::string both = "{strategy: {name: mltuner, params: {lr: 0.1}, end: 3}, stop: {rule: asha}}";
  expect_within("set twice, here and by strategy.end", error_text(both));
  EXPECT_EQ(read_study("{strategy: {name: mltuner, params: {lr: 0.1}}, stop: none}", "s")->stop.rule, "none");
  expect_within("cannot change", error_text("{strategy: {name: mltuner, params: {depth: 3}}}"));
}

TEST(AdaptiveBatch, IsReadAndWritten) {
  const auto config = read_study("data: {batch: adaptive(8, 64)}\ntrain: {schedule: cosine}\n", "s.yaml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->data.batch, 8);
  EXPECT_EQ(config->train.tune.name, "adaptive");
  EXPECT_EQ(config->train.tune.options, (nlohmann::json{{"most", 64}, {"rate", "auto"}}));
  const auto plain =
      read_study("data: {batch: 8}\ntrain: {schedule: cosine, tune: {adaptive: {most: 64}}}\n", "s.yaml");
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(write_study(*plain), write_study(*config));
  const auto again = read_stored_study(write_study(*config), "s.yaml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(write_study(*again), write_study(*config));
  for (const char* text : {"adaptive(64)", "adaptive( 64 )", "adaptive(32,64)", "\"adaptive(32, 64)\""}) {
    const auto usual = read_study(std::string("data: {batch: ") + text + "}", "s.yaml");
    ASSERT_TRUE(usual) << usual.error().text();
    EXPECT_EQ(usual->data.batch, 32);
    EXPECT_EQ(usual->train.tune.options.at("most"), 64);
  }
}

TEST(AdaptiveBatch, RefusesInvalidValues) {
  for (const char* text : {"adaptive()", "adaptive(32", "adaptive(32,)", "adaptive(0, 64)", "adaptive(1, 2, 4)",
                           "adaptive(a)", "adaptive(32 64)", "adaptive(9999999999)"}) {
    expect_within("adaptive(FROM, MOST) is wanted", error_text(std::string("data: {batch: \"") + text + "\"}"));
  }
  expect_within("data.batch", error_text("data: {batch: adapt(32)}"));
  expect_within("below 32", error_text("train: {tune: {adaptive: {most: 16}}}"));
  expect_within("adaptive", error_text("strategy: {name: random, then: {adaptive: {most: 64}}}"));
  expect_within("leave out one", error_text("train: {tune: {adaptive: {most: 64}}, schedule: {from: x}}"));
}

TEST(SecondStage, IsReadAndWritten) {
  EXPECT_EQ(write_study(*read_study("", "s")).find("then"), std::string::npos);
  const auto config = read_study(
      "{train: {schedule: cosine}, strategy: {name: tpe, then: {mltuner: {params: {lr: log(1e-4, 1)}, time: 7}, best: "
      "3}}}",
      "s.yaml");
  ASSERT_TRUE(config) << config.error().text();
  ASSERT_TRUE(config->strategy.then);
  EXPECT_TRUE(config->train.tune.name.empty());
  EXPECT_EQ(config->strategy.then->tune.name, "mltuner");
  EXPECT_EQ(config->strategy.then->tune.options.at("time"), 7);
  EXPECT_EQ(config->strategy.then->tune.options.at("params").at("lr"), "log(1e-04, 1)");
  EXPECT_EQ(config->strategy.then->best, 3);
  EXPECT_EQ(config->strategy.then->end, 5);

  const std::string text = write_study(*config);
  const auto again = read_stored_study(text, "s.yaml");
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_TRUE(again->strategy.then);
  EXPECT_EQ(write_study(*again), text);
  EXPECT_EQ(again->strategy.then->tune.options, config->strategy.then->tune.options);
  EXPECT_EQ(again->strategy.options, config->strategy.options) << "it is no option of the strategy";

  const auto set =
      read_study("strategy: tpe", "s.yaml", {{"strategy.then", "{mltuner: {params: {momentum: [0, 0.9]}}}"}});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ(set->strategy.then->best, 1);
  EXPECT_FALSE(read_study("strategy: {name: tpe, then: none}", "s")->strategy.then);
}

TEST(SecondStage, RefusesInvalidValues) {
  const auto of = [](const std::string& then) { return error_text("strategy: {name: tpe, then: " + then + "}"); };
  const std::string params = "params: {lr: log(1e-3, 1)}";
  expect_within("strategy.then: a mapping {mltuner: {params:", of("mltuner"));
  expect_within("is missing: mltuner", of("{best: 2}"));
  expect_within("'schedule'", of("{schedule: {from: a}}"));
  expect_within("known: mltuner, best, end", of("{bayes: {}}"));
  expect_within("option 'params' must be given", of("{mltuner: {}}"));
  expect_within("at least one setting", of("{mltuner: {params: {}}}"));
  expect_within("'width' cannot change", of("{mltuner: {params: {width: [1, 2]}}}"));
  expect_within("strategy.then.best", of("{mltuner: {" + params + "}, best: 0}"));
  expect_within("strategy.then.end", of("{mltuner: {" + params + "}, end: 0.5}"));
  expect_within("then: {mltuner: {…}, best: 3}", of("{mltuner: {" + params + ", best: 3}}"));
}

TEST(SecondStage, RefusesConflictingSettings) {
  const std::string then = "then: {mltuner: {params: {lr: log(1e-3, 1)}}}";
  expect_within("3:9: strategy.then: does not go with strategy pbt", error_text("strategy:\n  name: pbt\n  " + then));
  expect_within("strategy.then: goes behind a search",
                error_text("{model: {base: builtin:small-cnn}, strategy: {name: mltuner, params: {lr: log(1e-3, 1)}, " +
                           then + "}}"));
  expect_within("does not go with train.tune",
                error_text("{train: {tune: {mltuner: {params: {lr: 0.1}}}}, strategy: {name: tpe, " + then + "}}"));
  const std::string batches = "strategy: {name: tpe, then: {mltuner: {params: {batch: [32, 48]}}}}";
  expect_within("a batch of 48 is no multiple of 32", error_text("{" + batches + "}"));
  EXPECT_EQ(error_text("{data: {batch: 16}, " + batches + "}"), "");
  expect_within("batch cannot vary in addition to it",
                error_text("{data: {batch: 16}, space: {params: {batch: [16, 32]}}, " + batches + "}"));
  expect_within("does not go with data.folds", error_text("{data: {folds: 3}, strategy: {name: tpe, " + then + "}}"));
  EXPECT_EQ(error_text("{train: {schedule: cosine, warmup_epochs: 1}, strategy: {name: tpe, " + then + "}}"), "");
}

TEST(Schedule, IsReadFromPackage) {
  MemoryFileSystem disk;
  const std::string package = R"({"schedule": [{"step": 0, "lr": 0.5}, {"step": 80, "lr": 0.05}]})";
  ASSERT_TRUE(disk.make_folder("/studies/a/best").ok());
  ASSERT_TRUE(write_atomically(disk, "/studies/a/best/package.json", std::string_view(package)).ok());
  for (const char* from : {"a", "a/best", "/studies/a"}) {
    auto config = *read_study("train: {schedule: {from: " + std::string(from) + "}}", "s.yaml");
    EXPECT_EQ(config.train.tune.name, study::kReplaySchedule);
    ASSERT_TRUE(embed_schedule(config, "/studies", disk).ok());
    const auto schedule = study::read_schedule(config.train.tune.options);
    ASSERT_TRUE(schedule) << schedule.error().text();
    EXPECT_EQ((*schedule)[1], (study::SettingAt{80, {{"lr", 0.05}}}));
    const auto again = read_stored_study(write_study(config), "s.yaml");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*study::read_schedule(again->train.tune.options), *schedule);
  }
}

TEST(Schedule, RefusesMissingSchedule) {
  MemoryFileSystem disk;
  auto config = *read_study("train: {schedule: {from: nowhere}}", "s.yaml");
  EXPECT_EQ(embed_schedule(config, "/studies", disk).error().code, Code::kNotFound);
  EXPECT_FALSE(study::read_schedule(config.train.tune.options).ok());  // the folder was not read
  ASSERT_TRUE(disk.make_folder("/studies/nowhere").ok());
  ASSERT_TRUE(write_atomically(disk, "/studies/nowhere/package.json", std::string_view("{}")).ok());
  expect_within("has no schedule", embed_schedule(config, "/studies", disk).error().text());
  expect_within("both set", error_text("train: {schedule: {from: a}, tune: {mltuner: {params: {lr: 0.1}}}}"));
  expect_within("must be above step",
                error_text("train: {tune: {schedule: {settings: [{step: 3, lr: 1}, {step: 3, lr: 2}]}}}"));
  expect_within("'step' is missing", error_text("train: {tune: {schedule: {settings: [{lr: 1}]}}}"));
}

}  // namespace
}  // namespace lanista::studyfile
