#include "lanista/io/studyfile/study_file.h"

#include <gtest/gtest.h>

#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/yaml_guard.h"
#include "support/io/studyfile/test_support.h"

namespace lanista::studyfile {
namespace {

using testing::errors_of;

TEST(StudyFile, FillsDefaults) {
  const auto config = read_study("", "s.yaml");

  ASSERT_TRUE(config);
  EXPECT_EQ(config->data.source, "builtin:digits");
  EXPECT_EQ(config->strategy.slots, 16);
  EXPECT_TRUE(config->goals.empty());
  EXPECT_EQ(config->model.base, std::vector<std::string>{"builtin:auto"});
  EXPECT_EQ(config->budget.trials, 60);
}

TEST(StudyFile, WritesClassWeightsOnlyIfSet) {
  EXPECT_EQ(write_study(*read_study("", "s")).find("class_weights"), std::string::npos);
  for (const char* text : {"balanced", "{cat: 2, dog: 0.5}", "{0: 3}", "none"}) {
    const auto config = read_study("train: {class_weights: " + std::string(text) + "}", "s.yaml");
    ASSERT_TRUE(config) << config.error().text();
    const auto again = read_stored_study(write_study(*config), "s.yaml");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->data.class_weights, config->data.class_weights) << text;
    EXPECT_EQ(static_cast<bool>(config->data.class_weights), std::string(text) != "none");
  }
  EXPECT_EQ(read_study("", "s", {{"train.class_weights", "{cat: 2}"}})->data.class_weights.of.at("cat"), 2);
}

TEST(StudyFile, ReadsEverySectionAndNotation) {
  const auto config = read_study(R"(
name: mine
data: {source: "csv:iris.csv?target=species", batch: 16, split: [0.6, 0.2, 0.2],
       augment: [flip, {crop: {pad: 2}}]}
model: {base: builtin:small-mlp}
space:
  mutate: [swap_op, {widen: {by: [2]}}]
  repair: {channels: reject}
  params:
    optimizer:
      sgd: {lr: log(1e-3, 0.5), momentum: range(0, 0.95)}
      adamw: {lr: [0.001, 0.01]}
    label_smoothing: quant(0, 0.2, 0.1)
    nesterov: true
  limits: {params: <= 200k, flops: 5M}
train: {epochs: 3, metrics: [accuracy, top3]}
goal: [maximize val_accuracy, minimize val_loss]
strategy: {name: random}
stop: none
budget: {trials: none, steps: 1000}
keep: {top: 2, checkpoint_every: 0.5s}
)",
                                 "s.yaml");

  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->data.batch, 16);
  ASSERT_EQ(config->data.augment.size(), 2U);
  EXPECT_EQ(config->data.augment[0].options, Options({{"axis", "horizontal"}}));
  EXPECT_EQ(config->data.augment[1].name, "crop");
  EXPECT_EQ(config->model.base, std::vector<std::string>{"builtin:small-mlp"});
  EXPECT_EQ(config->space.mutate.size(), 2U);
  EXPECT_EQ(config->space.repair_channels, "reject");
  const auto& parameters = config->space.params.parameters();
  ASSERT_EQ(parameters.size(), 6U);
  EXPECT_EQ(space::domain_text(parameters[1].domain), "log(0.001, 0.5)");
  EXPECT_EQ(parameters[1].when, (std::vector<space::Parameter::Condition>{{"optimizer", {space::Value("sgd")}}}));
  EXPECT_EQ(config->space.limit_params, 200e3);
  EXPECT_EQ(config->space.limit_flops, 5e6);
  EXPECT_EQ(config->goals.size(), 2U);
  EXPECT_FALSE(config->goals[1].maximize);
  EXPECT_FALSE(config->budget.trials);
  EXPECT_EQ(config->budget.steps, 1000);
  EXPECT_EQ(config->keep.checkpoint_every, 0.5);
}

TEST(StudyFile, KeepsQuotedTexts) {
  const std::vector<std::pair<std::string, std::string>> cases{{R"("csv:a(1, 2).csv")", "csv:a(1, 2).csv"},
                                                               {R"("csv:\" b(1, 2).csv")", "csv:\" b(1, 2).csv"},
                                                               {R"('csv:c''s d(1, 2).csv')", "csv:c's d(1, 2).csv"}};
  for (const auto& [written, meant] : cases) {
    const auto config = read_study("data: {source: " + written + "}\nspace: {params: {lr: log(0.1, 0.2)}}", "s.yaml");
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->data.source, meant);
    EXPECT_EQ(space::domain_text(config->space.params.parameters().at(0).domain), "log(0.1, 0.2)");
  }
}

TEST(StudyFile, DefaultStudyIsValid) {
  const auto config = read_study(default_study(), "default");

  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->name, "digits");
}

TEST(StudyFile, RoundTrips) {
  const auto first = read_study(
      default_study(), "default",
      {{"train.lr", "0.1"}, {"budget.guard_minutes", "2.5"}, {"data.augment", "[{noise: {std: 0.3}}, flip]"}});
  ASSERT_TRUE(first);
  const std::string text = write_study(*first);

  const auto second = read_study(text, "resolved");

  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(write_study(*second), text);
  EXPECT_EQ(second->budget.guard_minutes, 2.5);
  ASSERT_EQ(second->data.augment.size(), 2U);
  EXPECT_EQ(second->data.augment[0].options, Options({{"std", 0.3}}));
  EXPECT_EQ(second->strategy.options, first->strategy.options);
  EXPECT_EQ(second->space.params.parameters().size(), first->space.params.parameters().size());
}

// Texts from before there were shards are parts of logs, and are still written alike.
TEST(StudyFile, WritesMicroBatchesOnlyIfSet) {
  const auto plain = read_study(default_study(), "default");
  const auto parts = read_study(default_study(), "default", {{"train.shards", "4"}, {"train.accumulate", "2"}});
  ASSERT_TRUE(plain && parts);
  EXPECT_EQ(write_study(*plain).find("shards"), std::string::npos);
  EXPECT_EQ(write_study(*plain).find("accumulate"), std::string::npos);

  const auto again = read_study(write_study(*parts), "resolved");

  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->train.numerics.shards, 4);
  EXPECT_EQ(again->train.numerics.accumulate, 2);
  for (const char* none : {"0", "4097", "1.5"}) {
    EXPECT_FALSE(read_study(default_study(), "default", {{"train.shards", none}})) << none;
  }
}

TEST(StudyFile, WritesGrowingEpochsOnlyIfSet) {
  EXPECT_EQ(write_study(*read_study(default_study(), "default")).find("all_rows_at"), std::string::npos);
  const auto growing = read_study("train: {epochs: 9, all_rows_at: 6}", "s.yaml");
  ASSERT_TRUE(growing) << growing.error().text();
  EXPECT_EQ(growing->train.length.all_rows_at, 6);
  const auto again = read_study(write_study(*growing), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->train.length.all_rows_at, 6);
}

TEST(StudyFile, WritesStepsPerEpochOnlyIfSet) {
  const auto plain = read_study(default_study(), "default");
  ASSERT_TRUE(plain);
  EXPECT_EQ(write_study(*plain).find("steps_per_epoch"), std::string::npos);
  EXPECT_EQ(write_study(*plain).find("  steps: 5"), std::string::npos);

  const auto epochs = read_study("train: {epochs: 4, steps_per_epoch: 50}", "s.yaml");
  ASSERT_TRUE(epochs) << epochs.error().text();
  EXPECT_EQ(epochs->train.length.steps_per_epoch, 50);
  EXPECT_EQ(epochs->train.length.epochs, 4);
  EXPECT_EQ(write_study(*read_study(write_study(*epochs), "again")), write_study(*epochs));

  const auto steps = read_study("train: {steps: 501, steps_per_epoch: 50}", "s.yaml");
  ASSERT_TRUE(steps) << steps.error().text();
  EXPECT_EQ(steps->train.length.epochs, 11);
  const std::string text = write_study(*steps);
  EXPECT_EQ(text.find("epochs: 11"), std::string::npos) << "the steps set it";
  const auto again = read_study(text, "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->train.length.epochs, 11);
  EXPECT_EQ(again->train.length.steps, 501);
  EXPECT_EQ(write_study(*again), text);

  const auto back = read_study("train: {steps: 501, epochs: 3}", "s.yaml", {{"train.steps", "none"}});
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->train.length.epochs, 3);
  EXPECT_FALSE(back->train.length.steps);
}

struct ErrorCase {
  std::string text;
  std::string message;
};

TEST(StudyFile, ReadsMutatorFamiliesAndWritesThemAgain) {
  const auto config = read_study(R"yaml(
space:
  mutate:
   - operator: {match: "conv2d & kernel > 1", to: [conv3x3, "leaky_relu(alpha=0.1)"], set: {kernel: [3, 5], bias: true}}
   - insert: {match: "relu -> add", of: [batch_norm, "relu >> dropout(p=0.2)"]}
   - replace: {match: "conv2d as c >> relu", by: ["conv2d(out=$c.out, kernel=[1]) >> silu"]}
   - duplicate: {match: "linear >> relu"}
   - input: {from: relu, mode: add}
)yaml",
                                 "s.yaml");

  ASSERT_TRUE(config) << config.error().text();
  ASSERT_EQ(config->space.mutate.size(), 5U);
  EXPECT_EQ(config->space.mutate[0].options.at("set"), (nlohmann::json{{"kernel", {3, 5}}, {"bias", true}}));
  const auto again = read_study(write_study(*config), "again");
  ASSERT_TRUE(again) << again.error().text();
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(again->space.mutate[i].name, config->space.mutate[i].name);
    EXPECT_EQ(again->space.mutate[i].options, config->space.mutate[i].options);
  }

  EXPECT_EQ(
      errors_of("space: {mutate: [{operator: {match: conv2, set: {kernel: 3}}}]}"),
      "s.yaml:1:19: space.mutate.operator: match: in the pattern \"conv2\", column 1: unknown term 'conv2'; did you "
      "mean 'conv2d'?");
  EXPECT_NE(errors_of("space: {mutate: [insert]}").find("option 'match' must be given"), std::string::npos);
}

TEST(StudyFile, AcceptsFoldsInsteadOfValidationShare) {
  const auto plain = read_study("data: {split: [0.5, 0.3, 0.2]}", "s.yaml");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->data.folds);
  EXPECT_EQ(write_study(*plain).find("folds"), std::string::npos) << "written as by builds before";
  const auto folds = read_study("data: {split: [0.8, 0, 0.2], folds: 5}", "s.yaml");
  ASSERT_TRUE(folds) << folds.error().text();
  EXPECT_EQ(folds->data.folds, 5);
  const auto again = read_study(write_study(*folds), "again");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->data.folds, 5);
  EXPECT_FALSE(read_study("data: {folds: none}", "s.yaml")->data.folds);
}

TEST(StudyFile, ErrorsNameLocationValueAndAllowed) {
  const std::vector<ErrorCase> cases{
      {"trian: {}", "s.yaml:1:1: trian: unknown key 'trian'; did you mean 'train'?"},
      {"train:\n  epoch: 3", "s.yaml:2:3: train.epoch: unknown key 'epoch'; did you mean 'epochs'?"},
      {"data: {batch: 0}", "s.yaml:1:15: data.batch: "},
      {"data: {batch: many}", "s.yaml:1:15: data.batch: "},
      {"data: {split: [0.5, 0.5]}", "s.yaml:1:15: data.split: [0.5,0.5] is not allowed; three shares that add up to 1"},
      {"data: {split: [0.5, 0.4, 0.3]}", "three shares that add up to 1"},
      {"data: {split: [0.5, 0, 0.5]}",
       "s.yaml:1:15: data.split: [0.5,0.0,0.5] is not allowed; three shares that add up to 1"},
      {"data: {split: [0, 0.5, 0.5], folds: 3}", "three shares that add up to 1"},
      {"data: {folds: 1}", "s.yaml:1:15: data.folds: "},
      {"data: {augment: [flp]}", "s.yaml:1:18: data.augment.flp: unknown key 'flp'; did you mean 'flip'?"},
      {"data: {augment: [{crop: {pad: 0}}]}", "s.yaml:1:19: data.augment.crop: pad: 0 is out of bounds"},
      {"data: {augment: [[flip]]}", "s.yaml:1:18: data.augment: a name is wanted, or 'name: {options}'; known: crop, "},
      {"data: {augment: flip}", "s.yaml:1:17: data.augment: a list is wanted, of: crop, flip, shift, erase, noise"},
      {"train: {optimizer: sdg}", "s.yaml:1:20: train.optimizer: "},
      {"goal: maximise val_accuracy",
       "s.yaml:1:7: goal: 'maximise val_accuracy' is not allowed; allowed: 'maximize METRIC'"},
      {"strategy: {name: evolutoin}", "s.yaml:1:18: strategy.name: 'evolutoin' is not known; known: "},
      {"strategy: {name: mltunr}", "mltuner; did you mean 'mltuner'?"},
      {"strategy: {name: evolution, populaton: 3}", "s.yaml:1:29: strategy.populaton: "},
      {"strategy: {name: evolution, population: 0}", "s.yaml:1:29: strategy.population: "},
      {"stop: {rule: asha, rungs: x}", "stop.rungs: "},
      {"space: {mutate: [widn]}", "s.yaml:1:18: space.mutate.widn: unknown key 'widn'; did you mean 'widen'?"},
      {"space: {mutate: [{widen: {buy: [2]}}]}", "s.yaml:1:19: space.mutate.widen: buy: "},
      {"space: {params: {lr: log(0, 1)}}", "s.yaml:1:22: space.params.lr: 'log(0, 1)' is not allowed"},
      {"space: {params: {lr: lgo(1, 2)}}", "did you mean 'log'?"},
      {"space: {params: {optimizer: {adam: {momentum: 0.9}}}}",
       "s.yaml:1:37: space.params.optimizer.adam.momentum: 'momentum' has no effect on adam; it is a number of sgd"},
      {"space: {params: {optimizer: {sgd: {eps: 1e-8}}}}",
       "'eps' has no effect on sgd; it is a number of adam, adamw and"},
      {"train: {steps_per_epoch: 0}", "s.yaml:1:26: train.steps_per_epoch: 0 is out of bounds"},
      {"train: {steps_per_epoch: 2.5}", "s.yaml:1:26: train.steps_per_epoch: "},
      {"train: {steps: 0}", "s.yaml:1:16: train.steps: 0 is out of bounds"},
      {"train: {epochs: 3, steps: 40}",
       "s.yaml:1:17: train.epochs: a trial's budget is in epochs or in steps (train.steps), not both"},
      {"train: {steps: 1000001, steps_per_epoch: 1}",
       "s.yaml:1:16: train.steps: 1000001 steps are 1000001 epochs of 1; at most 1000000 are allowed"},
      {"train: {lr: inf}", "s.yaml:1:13: train.lr: expected a number, not \"inf\""},
      {"train: {epochs: 3\nname: x", "s.yaml:2:5: is not YAML: a '{' before this is never closed"},
      {"train:\n  lr: 0.1\n   epochs: 3", "s.yaml:3:10: is not YAML: a ':' where no value can stand"},
      {"space: {params: {lr: range(1)}}", "allowed: range(lo, hi)"},
      {"space: {params: {learning_rate: 1}}", "s.yaml:1:18: space.params.learning_rate: unknown key 'learning_rate'"},
      {"space: {params: {optimizer: [sgd, adagrad]}}", "space.params.optimizer: "},
      {"space: {limits: {params: few}}",
       "s.yaml:1:26: space.limits.params: 'few' is not allowed; allowed: an upper bound"},
      {"space: {repair: {channels: projct}}", "'projct' is not allowed; allowed: project, pad, reject"},
      {"keep: {checkpoint_every: 3h}", "s.yaml:1:26: keep.checkpoint_every: '3h' is not allowed; allowed: seconds"},
      {"space: {limits: {params: inf}}", "'inf' is not allowed; allowed: an upper bound"},
      {"space: {limits: {flops: 1e308G}}", "'1e308G' is not allowed; allowed: an upper bound"},
      {"keep: {checkpoint_every: inf}", "'inf' is not allowed; allowed: seconds"},
      {"keep: {checkpoint_every: 1e308m}", "'1e308m' is not allowed; allowed: seconds"},
      {"space: {params: {lr: range(0, inf)}}", "'range(0, inf)' is not allowed; allowed: range(lo, hi) with numbers"},
      {"space: {params: {lr: [0.1, nan]}}", "space.params.lr: "},
      {"schema: 2", "s.yaml:1:9: schema: only schema 1 is known to this version"},
      {"name: ../x", "s.yaml:1:7: name: '../x' is not allowed"},
      {"name: >-\n  -\n", "name: '-' is not allowed"},
      {"budget: {trials: none}", "budget: nothing ends this study"},
      {"data: 3", "s.yaml:1:7: data: a mapping of settings is wanted here"},
      {"- a", "s.yaml:1:1: a study file is a mapping of sections"},
      {"train: {epochs: 1}\ntrain: {}", "s.yaml:2:1: key 'train' is here twice"},
      {"train: {epochs: [}", "s.yaml:1:"},
      {"name: a\ntrain: {lr: \x89}", "s.yaml:2:13: is not UTF-8 from here on; save it as UTF-8"},
      {"name: !!python/object x", "tag '"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = errors_of(text);
    EXPECT_NE(seen.find(message), std::string::npos) << text << "\n  gave: " << seen << "\n  want: " << message;
  }
}

TEST(StudyFile, ReportsEveryErrorAtOnce) {
  const std::string seen = errors_of("trian: {}\ndata: {batch: 0, sorce: x}\ngoal: up\n");

  EXPECT_EQ(std::ranges::count(seen, '\n'), 3) << seen;
}

TEST(StudyFile, AppliesOverridesAndNamesThemInErrors) {
  const auto config =
      read_study("train: {epochs: 3}", "s.yaml",
                 {{"train.epochs", "5"}, {"space.params.lr", "log(0.1, 0.2)"}, {"data.split", "[0.8, 0.1, 0.1]"}});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->train.length.epochs, 5);
  EXPECT_EQ(config->data.split[0], 0.8);
  EXPECT_EQ(config->space.params.parameters().size(), 1U);

  EXPECT_NE(errors_of("", {{"train.epochs", "0"}}).find("--set train.epochs: train.epochs: "), std::string::npos);
  EXPECT_NE(errors_of("", {{"train.epoch", "3"}}).find("did you mean 'epochs'?"), std::string::npos);
  EXPECT_NE(errors_of("name: x", {{"name.y", "3"}}).find("--set name.y: "), std::string::npos);
  EXPECT_NE(errors_of("", {{".x", "3"}}).find("a key such as train.epochs is wanted"), std::string::npos);
}

TEST(StudyFile, ReportsLinesOfOverrideFile) {
  const std::string list = "# mine\n- {lr: 0.1}\n- lr: 0.2\n  batch: 8\n";
  for (const char* study : {"strategy: tpe", "strategy: {name: tpe, enqueue: [{lr: 0.3}]}"}) {
    const auto config = read_study(study, "s.yaml", {{"strategy.enqueue", list, "list.yaml"}});
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->strategy.name, "tpe");
    EXPECT_EQ(config->strategy.options.at("enqueue").dump(), R"([{"lr":0.1},{"batch":8,"lr":0.2}])");
  }
  const std::vector<Override> given{{"strategy.enqueue", list, "list.yaml"}};
  EXPECT_EQ(location_in_study("strategy: tpe", "s.yaml", given, "strategy.enqueue[1].batch"),
            "list.yaml:4:10: strategy.enqueue[1].batch");
  EXPECT_EQ(location_in_study("strategy: tpe", "s.yaml", given, "strategy.name"), "s.yaml:1:11: strategy.name");

  EXPECT_NE(errors_of("", {{"strategy.enqueue", "lr: 0.1", "list.yaml"}}).find("list.yaml: strategy.enqueue: expected"),
            std::string::npos);
  EXPECT_NE(errors_of("", {{"strategy.enqueue", "- {lr: 1, lr: 2}", "list.yaml"}}).find("list.yaml:1:"),
            std::string::npos);
  EXPECT_NE(errors_of("", {{"strategy.enqueue", "- {lr: ", "list.yaml"}}).find("list.yaml:"), std::string::npos);
}

TEST(StudyFile, RefusesHostileYaml) {
  EXPECT_NE(errors_of(std::string(2 << 20, ' ')).find("at most 1048576"), std::string::npos);
  EXPECT_EQ(errors_of(std::string(20'001, '[')),
            "s.yaml: has 20001 line ends and signs such as , : [ {; allowed: at most 20000");
  EXPECT_NE(errors_of(std::string(40, '[') + std::string(40, ']')).find("deeper than 32"), std::string::npos);
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string list;
    for (int j = 0; j < 10; ++j) list += (j == 0 ? "*a" : ",*a") + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  bomb += "strategy: {name: random, x: *a8}\n";
  EXPECT_FALSE(errors_of(bomb).empty());
}

TEST(StudyFile, SchemaHasEverySectionAndPlugin) {
  const auto schema = study_json_schema();

  for (const auto& section : study_sections()) {
    for (const auto& field : section.fields) {
      EXPECT_TRUE(schema["properties"][section.name]["properties"].contains(field.spec.name)) << field.spec.name;
      EXPECT_FALSE(field.spec.help.empty()) << field.spec.name;
    }
  }
  EXPECT_FALSE(schema["properties"]["strategy"]["properties"]["name"]["enum"].empty());
  EXPECT_EQ(schema["properties"]["train"]["not"]["required"], (nlohmann::json{"epochs", "steps"}));
  const auto& augment = schema["properties"]["data"]["properties"]["augment"]["items"]["anyOf"];
  EXPECT_EQ(augment[0]["const"], "crop");
  EXPECT_EQ(augment[1]["properties"]["crop"]["properties"]["pad"]["default"], 4);
}

TEST(StudyFile, RebasesRelativePathsAndNothingElse) {
  study::StudyConfig config;
  config.data.source = "csv:data/iris.csv?target=species";
  config.model.base = {"builtin:small-mlp", "nets/a.graph"};

  ASSERT_TRUE(rebase_paths(config, "/data/me/study", "/data/me/studies/x-1"));

  EXPECT_EQ(config.data.source, "csv:../../study/data/iris.csv?target=species");
  EXPECT_EQ(config.model.base, (std::vector<std::string>{"builtin:small-mlp", "../../study/nets/a.graph"}));
  config.data.source = "npy:x.npy,/abs/y.npy";
  ASSERT_TRUE(rebase_paths(config, "/a", "/a/b"));
  EXPECT_EQ(config.data.source, "npy:../x.npy,/abs/y.npy");
  for (const auto& [source, rebased] : std::vector<std::pair<std::string, std::string>>{
           {"builtin:digits", "builtin:digits"},
           {"synthetic:spirals?rows=20", "synthetic:spirals?rows=20"},
           {"folder:photos?size=8x8", "folder:../photos?size=8x8"},
           {"idx:x,/abs/y?test=t,u", "idx:../x,/abs/y?test=../t,../u"},
           {"csv:a,b.csv?schema=s.json&sep=tab", "csv:../a,b.csv?schema=../s.json&sep=tab"},
           {"cifar:one,two?kind=10", "cifar:../one,../two?kind=10"},
           {"parquet:x", "parquet:x"}}) {
    config.data.source = source;
    ASSERT_TRUE(rebase_paths(config, "/a", "/a/b"));
    EXPECT_EQ(config.data.source, rebased);
  }
}

}  // namespace
}  // namespace lanista::studyfile
