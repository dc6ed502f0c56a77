// Studies over a space of models.
#include <gtest/gtest.h>

#include "lanista/base/frame.h"
#include "lanista/engine/core/engine.h"
#include "lanista/io/studyfile/space_preview.h"
#include "support/engine/core/test_support.h"
#include "support/io/studyfile/test_spaces.h"

namespace lanista::engine {
namespace {

using studyfile::testing::kSpace;
using studyfile::testing::read;
using studyfile::testing::study_text;
using namespace testing;

/// small_study over a blueprint, mutators included.
study::StudyConfig study_over_space(std::int64_t trials) {
  study::StudyConfig config = small_study(trials);
  config.model.base.clear();
  config.model.space = read(study_text(kSpace)).model.space;
  return testing::resolved(config);
}

const FakeOptions kFake{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .nan_one_in = 6};

TEST(ModelSpaceStudy, KeepsSampledModelsAndResumesExactly) {
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

  const DecodedFrames scan = decode_frames(log);
  std::string prefix;
  std::uint64_t cut = 0;
  for (const Frame& frame : scan.frames) {
    encode_frame(frame.type, frame.payload, prefix);
    if (++cut % 17 != 0) continue;
    Bench bench;
    testing::copy_except_best(whole.disk, bench.disk);
    bench.disk.put(path, prefix);
    FakeOptions options = kFake;
    options.workers = static_cast<std::int64_t>(cut % 3) + 1;
    const auto resumed = bench.resume(options);
    ASSERT_TRUE(resumed.ok()) << resumed.error().text();
    ASSERT_EQ(bench.canonical(), whole.canonical()) << "cut after record " << cut;
  }
}

TEST(ModelSpaceStudy, IsPreviewedBeforeItRuns) {
  const study::StudyConfig config = study_over_space(3);
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), "", disk);
  ASSERT_TRUE(models.ok()) << models.error().text();

  const std::string text = studyfile::space_preview(config, **models);

  EXPECT_TRUE(
      text.starts_with("# models: 7 choices, 504 samples\n# hyper-parameters: 4 choices, continuous\n# evolving: "))
      << text;
  EXPECT_NE(text.find("# sample 5: "), std::string::npos);
  EXPECT_NE(text.find("# shapes of sample 1\n#   %0 = input(shape=[6])"), std::string::npos) << text;
  // The text is valid after a resolved study.
  EXPECT_TRUE(studyfile::read_study(studyfile::write_study(config) + text, "tiny.yaml").ok());
}

TEST(ModelSpaceStudy, NamesBuiltinModelForMissingFile) {
  MemoryFileSystem disk;
  const auto error_of = [&](const std::string& base) {
    study::StudyConfig config = small_study();
    config.model.base = {base};
    const auto models = make_model_space(config, small_data(), "", disk);
    return models.ok() ? "" : models.error().text();
  };
  EXPECT_EQ(error_of("small-mlp"), "model.base[0]: there is no file 'small-mlp'; did you mean 'builtin:small-mlp'?");
  EXPECT_EQ(error_of("small_cnn"), "model.base[0]: there is no file 'small_cnn'; did you mean 'builtin:small-cnn'?");
  EXPECT_EQ(error_of("auto"), "model.base[0]: there is no file 'auto'; did you mean 'builtin:auto'?");
  EXPECT_EQ(error_of("net.graph"),
            "model.base[0]: there is no file 'net.graph'; built-in models are builtin:small-mlp, builtin:small-cnn, "
            "builtin:small-transformer, builtin:embedding-mlp, builtin:auto");
}

TEST(ModelSpaceStudy, WarnsWhenNothingVaries) {
  MemoryFileSystem disk;
  const auto note = [&](const study::StudyConfig& config) {
    const auto models = make_model_space(config, small_data(), "", disk);
    EXPECT_TRUE(models.ok());
    return studyfile::no_variation_hint(config, **models);
  };
  study::StudyConfig plain = small_study();
  EXPECT_EQ(note(plain), "");
  plain.space.mutate.clear();
  EXPECT_EQ(note(plain), "") << "hyper-parameters vary";
  plain.space.params = {};
  ASSERT_TRUE(plain.space.params.add({"nesterov", space::Categorical{{true}}, {}}).ok());
  EXPECT_TRUE(note(plain).starts_with("nothing varies in this study, so 1 trial is all there is to train; "))
      << note(plain);
  EXPECT_NE(note(plain).find("space: {mutate: [widen, deepen], params: {lr: log(0.001, 0.3)}}"), std::string::npos);
  plain.strategy.repeat = 3;
  EXPECT_NE(note(plain).find("so 3 trials are all"), std::string::npos) << note(plain);
  plain.space.mutate = {{"widen", Options::object()}};
  EXPECT_EQ(note(plain), "");
  EXPECT_EQ(note(study_over_space(3)), "");
  // The recommendation is a valid study file with something to search.
  const auto wider = studyfile::read_study("space: {mutate: [widen, deepen], params: {lr: log(0.001, 0.3)}}", "s");
  ASSERT_TRUE(wider.ok()) << wider.error().text();
  EXPECT_EQ(wider->space.params.parameters().size(), 1U);
}

TEST(ModelSpaceStudy, ReportsSpaceWithoutValidModel) {
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
