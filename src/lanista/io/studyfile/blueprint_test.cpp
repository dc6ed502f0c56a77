// Model spaces in a study file: reading, writing, and mistakes.
#include "lanista/io/studyfile/blueprint.h"

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "support/io/studyfile/test_spaces.h"
#include "support/model/mutate/test_models.h"

namespace lanista::studyfile {
namespace {

using testing::kSpace;
using testing::read;
using testing::study_text;

TEST(ModelSpaceSection, IsReadAndWrittenBack) {
  const study::StudyConfig config = read(study_text(kSpace));
  EXPECT_TRUE(config.model.base.empty());

  const auto blueprint = read_blueprint(graph::builtin_ops(), config.model.space);
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().text();
  std::string names;
  for (const auto& parameter : blueprint->parameters()) names += parameter.name + " ";
  EXPECT_EQ(names, "width act depth inner/1 inner/2 k skip ");
  // Rounds multiply their own choices: 1 + 2 + 4.
  EXPECT_EQ(mutate::testing::count_samples(*blueprint), 2 * 4 * (1 + 2 + 4) * 3 * 3);

  const study::StudyConfig again = read(write_study(config));
  EXPECT_EQ(again.model.space, config.model.space);
  EXPECT_EQ(write_study(again), write_study(config));
}

TEST(ModelSpaceSection, ReportsEveryErrorWithLocation) {
  const auto error_text = [](const std::string& space) {
    const auto config = read_study(study_text(" " + space + "\n"), "toy.yaml");
    return config ? std::string("fine") : config.error().message;
  };
  EXPECT_EQ(error_text("{layers: [relu, {lienar: {out: 3}}]}"),
            "toy.yaml:5:26: model.space.layers[1]: there is no operator 'lienar'; did you mean 'linear'?");
  EXPECT_EQ(error_text("{layers: [{linear: {out: 2 * w}}]}"),
            "toy.yaml:5:20: model.space.layers[0]: \"2 * w\" reads 'w', which is no choice (known: none, in, outputs)");
  EXPECT_EQ(error_text("{layers: [{choice: {label: c, off: [relu]}}]}"),
            "toy.yaml:5:45: model.space.layers[0].choice.off: unknown key 'off'; did you mean 'of'?");
  EXPECT_EQ(
      error_text("{layers: [{repeat: {label: d, depth: some, layers: [relu]}}]}"),
      "toy.yaml:5:47: model.space.layers[0].repeat.depth: \"some\" is neither a list of values nor a range such as "
      "int(1, 3)");
  EXPECT_EQ(error_text("{layers: [{linear: {out: int(1, 4)}}]}"),
            "toy.yaml:5:35: model.space.layers[0].linear.out: a choice on the spot needs a label: {label: NAME, of: "
            "int(1, 4)}");
  EXPECT_EQ(error_text("{layers: [{relu: {}, gelu: {}}]}"),
            "toy.yaml:5:20: model.space.layers[0]: 'gelu' and 'relu' in one block; one is wanted");
  EXPECT_EQ(
      error_text("{layers: [{inputs: {label: x, from: [a], choose: few}}]}"),
      "toy.yaml:5:59: model.space.layers[0].inputs.choose: \"few\" is not allowed; a number, [fewest, most], or any");
  EXPECT_EQ(error_text("{layers: [{repeat: {label: d, depth: 2, layers: [relu, {choice: {label: c, of: [ralu]}}]}}]}"),
            "toy.yaml:5:90: model.space.layers[0].repeat.layers[1].choice.of[0]: there is no operator 'ralu'; did you "
            "mean 'relu'?");
  EXPECT_EQ(error_text("builtin:nasbench102"),
            "toy.yaml:5:10: model.space: there is no published space 'nasbench102'; did you mean 'nasbench101'?");
  EXPECT_EQ(error_text("{layers: [relu]}\n  base: builtin:small-mlp"),
            "toy.yaml:6:9: model.base: a study has base models or a space of models, not both");
}

TEST(ModelSpaceSection, CanBeInSeparateFile) {
  MemoryFileSystem disk;
  disk.put("/studies/toy-space.yaml", "layers:\n  - {linear: {out: outputs}}\n");
  disk.put("/studies/bad.yaml", "layers:\n  - relu\n  - {linear: {uot: outputs}}\n");
  study::StudyConfig config = read(study_text(" toy-space.yaml\n"));

  ASSERT_TRUE(embed_model_space(config, "/studies", disk).ok());
  EXPECT_EQ(config.model.space.dump(), R"({"layers":[{"linear":{"out":"outputs"}}]})");

  config.model.space = "bad.yaml";
  const auto bad = embed_model_space(config, "/studies", disk);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "bad.yaml:3:5: layers[1]: linear has no 'uot' to set (it has: bias, out)");
  config.model.space = "none.yaml";
  EXPECT_EQ(embed_model_space(config, "/studies", disk).error().message,
            "there is no file '/studies/none.yaml'; a published space is builtin:NAME, such as builtin:darts");
  config.model.space = "dart";
  EXPECT_EQ(embed_model_space(config, "/studies", disk).error().message,
            "there is no file '/studies/dart'; did you mean 'builtin:darts'?");
}

}  // namespace
}  // namespace lanista::studyfile
