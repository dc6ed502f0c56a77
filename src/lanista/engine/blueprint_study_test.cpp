// Studies over a space of models: what the study file says, and what becomes of it.
#include <gtest/gtest.h>

#include "lanista/base/frame.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/study_blueprint.h"
#include "lanista/engine/study_outlook.h"
#include "lanista/engine/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_data;
using testing::small_study;

constexpr const char* kSpace = R"yaml(
    choices: {width: [8, 16], k: int(1, 3)}
    layers:
      - {name: a, linear: {out: width}}
      - choice: {label: act, of: [relu, gelu, skip, {name: two, layers: [{linear: {out: "2 * width"}}, relu]}]}
      - repeat:
          label: depth
          depth: {int: [0, 2]}
          each: own
          layers: [{linear: {out: {label: inner, of: [4, 6]}}}, {if: "inner > 4", then: [relu], else: [gelu]}]
      - {name: b, linear: {out: "max(width, k * 4)"}}
      - inputs: {label: skip, from: [a, b], choose: any, reduce: mean}
      - linear: {out: classes}
)yaml";

std::string study_text(const std::string& space, const std::string& more = "") {
  return "schema: 1\nname: toy\ndata: {source: \"builtin:digits\"}\nmodel:\n  space:" + space + more;
}

study::StudyConfig read(const std::string& text) {
  auto config = read_study(text, "toy.yaml");
  LANISTA_CHECK(config.ok(), config ? "" : config.error().text());
  return *std::move(config);
}

TEST(ModelSpaceInAStudy, IsReadAndWrittenBack) {
  const study::StudyConfig config = read(study_text(kSpace));
  EXPECT_TRUE(config.model.base.empty());

  const auto blueprint = read_blueprint(graph::builtin_ops(), config.model.space);
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().text();
  std::string names;
  for (const auto& parameter : blueprint->parameters()) names += parameter.name + " ";
  EXPECT_EQ(names, "width act depth inner/1 inner/2 k skip ");
  // Rounds multiply what they choose themselves: 1 + 2 + 4.
  EXPECT_EQ(mutate::count_samples(*blueprint), 2 * 4 * (1 + 2 + 4) * 3 * 3);

  const study::StudyConfig again = read(write_study(config));
  EXPECT_EQ(again.model.space, config.model.space);
  EXPECT_EQ(write_study(again), write_study(config));
}

TEST(ModelSpaceInAStudy, NamesEveryMistakeWithItsPlace) {
  const auto mistake = [](const std::string& space) {
    const auto config = read_study(study_text(" " + space + "\n"), "toy.yaml");
    return config ? std::string("fine") : config.error().message;
  };
  EXPECT_EQ(mistake("{layers: [relu, {lienar: {out: 3}}]}"),
            "toy.yaml:5:26: model.space.layers[1]: there is no operator 'lienar'; did you mean 'linear'?");
  EXPECT_EQ(mistake("{layers: [{linear: {out: 2 * w}}]}"),
            "toy.yaml:5:20: model.space.layers[0]: \"2 * w\" reads 'w', which is no choice (known: none, in, outputs)");
  EXPECT_EQ(mistake("{layers: [{choice: {label: c, off: [relu]}}]}"),
            "toy.yaml:5:45: model.space.layers[0].choice.off: unknown key 'off'; did you mean 'of'?");
  EXPECT_EQ(
      mistake("{layers: [{repeat: {label: d, depth: some, layers: [relu]}}]}"),
      "toy.yaml:5:47: model.space.layers[0].repeat.depth: \"some\" is neither a list of values nor a range such as "
      "int(1, 3)");
  EXPECT_EQ(mistake("{layers: [{linear: {out: int(1, 4)}}]}"),
            "toy.yaml:5:35: model.space.layers[0].linear.out: a choice on the spot needs a label: {label: NAME, of: "
            "int(1, 4)}");
  EXPECT_EQ(mistake("{layers: [{relu: {}, gelu: {}}]}"),
            "toy.yaml:5:20: model.space.layers[0]: 'gelu' and 'relu' in one block; one is wanted");
  EXPECT_EQ(
      mistake("{layers: [{inputs: {label: x, from: [a], choose: few}}]}"),
      "toy.yaml:5:59: model.space.layers[0].inputs.choose: \"few\" is not allowed; a number, [fewest, most], or any");
  EXPECT_EQ(mistake("{layers: [{repeat: {label: d, depth: 2, layers: [relu, {choice: {label: c, of: [ralu]}}]}}]}"),
            "toy.yaml:5:90: model.space.layers[0].repeat.layers[1].choice.of[0]: there is no operator 'ralu'; did you "
            "mean 'relu'?");
  EXPECT_EQ(mistake("builtin:nasbench102"),
            "toy.yaml:5:10: model.space: there is no published space 'nasbench102'; did you mean 'nasbench101'?");
  EXPECT_EQ(mistake("{layers: [relu]}\n  base: builtin:small-mlp"),
            "toy.yaml:6:9: model.base: a study has base models or a space of models, not both");
}

TEST(ModelSpaceInAStudy, MayStandInAFileOfItsOwn) {
  MemoryFileSystem disk;
  disk.put("/studies/toy-space.yaml", "layers:\n  - {linear: {out: outputs}}\n");
  disk.put("/studies/bad.yaml", "layers:\n  - relu\n  - {linear: {uot: outputs}}\n");
  study::StudyConfig config = read(study_text(" toy-space.yaml\n"));

  ASSERT_TRUE(inline_space(config, "/studies", disk).ok());
  EXPECT_EQ(config.model.space.dump(), R"({"layers":[{"linear":{"out":"outputs"}}]})");

  config.model.space = "bad.yaml";
  const auto bad = inline_space(config, "/studies", disk);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "bad.yaml:3:5: layers[1]: linear has no 'uot' to set (it has: bias, out)");
  config.model.space = "none.yaml";
  EXPECT_EQ(inline_space(config, "/studies", disk).error().code, Code::kNotFound);
}

TEST(StudyFile, TakesTheNameOfAStrategyAlone) {
  EXPECT_EQ(read("strategy: tpe\n").strategy.name, "tpe");
  const auto wrong = read_study("strategy: tpo\n", "toy.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message.substr(0, 45), "toy.yaml:1:11: strategy.name: 'tpo' is not kn");
}

/// small_study over a blueprint, mutators included.
study::StudyConfig study_over_space(std::int64_t trials) {
  study::StudyConfig config = small_study(trials);
  config.model.base.clear();
  config.model.space = read(study_text(kSpace)).model.space;
  auto resolved = read_study(write_study(config), "tiny.yaml");
  LANISTA_CHECK(resolved.ok(), resolved ? "" : resolved.error().text());
  return *std::move(resolved);
}

const FakeOptions kFake{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .nan_one_in = 6};

TEST(StudyOverASpace, KeepsTheModelsItDrewAndResumesExactly) {
  Bench whole;
  const auto summary = whole.run(study_over_space(14), kFake);
  ASSERT_TRUE(summary.ok()) << summary.error().text();
  const std::string path = kFolder + "/log/000001.log";
  const std::string log = *whole.disk.read(path);

  std::size_t edited = 0, mutated = 0;
  const study::StudyView view = whole.view();
  for (const auto& trial : view.trials) {
    EXPECT_TRUE(trial.proposal.sample.contains("model.act"));
    const auto model = study::trial_model(view, trial, graph::builtin_ops());
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(graph::canonical_hash(*model, graph::builtin_ops()), trial.proposal.graph_hash);
    edited += trial.proposal.edits.empty() ? 0 : 1;
    mutated += trial.proposal.steps.empty() ? 0 : 1;
  }
  EXPECT_GT(edited, 10U);
  EXPECT_GT(mutated, 3U);

  const FrameScan scan = decode_frames(log);
  std::string prefix;
  std::uint64_t cut = 0;
  for (const Frame& frame : scan.frames) {
    encode_frame(frame.type, frame.payload, prefix);
    if (++cut % 17 != 0) continue;
    Bench bench;
    testing::copy_without_best(whole.disk, bench.disk);
    bench.disk.put(path, prefix);
    FakeOptions options = kFake;
    options.workers = static_cast<std::int64_t>(cut % 3) + 1;
    const auto resumed = bench.resume(options);
    ASSERT_TRUE(resumed.ok()) << resumed.error().text();
    ASSERT_EQ(bench.canonical(), whole.canonical()) << "cut behind record " << cut;
  }
}

TEST(StudyOverASpace, IsLookedAtBeforeItRuns) {
  const study::StudyConfig config = study_over_space(3);
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), "", disk);
  ASSERT_TRUE(models.ok()) << models.error().text();

  const std::string text = space_outlook(config, **models);

  EXPECT_TRUE(
      text.starts_with("# models: 7 choices, 504 samples\n# hyper-parameters: 4 choices, continuous\n# evolving: "))
      << text;
  EXPECT_NE(text.find("# sample 5: "), std::string::npos);
  EXPECT_NE(text.find("# shapes of sample 1\n#   %0 = input(shape=[6])"), std::string::npos) << text;
  // It can stand behind a resolved study.
  EXPECT_TRUE(read_study(write_study(config) + text, "tiny.yaml").ok());
}

TEST(StudyOverASpace, SaysThatNoSampleMakesAModel) {
  study::StudyConfig config = study_over_space(3);
  config.model.space = {{"layers", {{{"linear", {{"out", 2}}}}}}};
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), "", disk);
  ASSERT_FALSE(models.ok());
  EXPECT_EQ(models.error().text(),
            "model.space: none of 1000 samples makes a model; the last: the model gives [N, 2], not [N, 3]");
}

}  // namespace
}  // namespace lanista::engine
