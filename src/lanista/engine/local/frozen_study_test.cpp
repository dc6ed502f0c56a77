// Studies that train heads on a frozen part, from the study file to the winner's package.
#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/frozen_prefix.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::fingerprint;
using engine::testing::kFolder;

constexpr const char* kBase =
    "%0 = input(shape=[4])\n"
    "%1 = linear(%0, out=6)\n"
    "%2 = batch_norm(%1)\n"
    "%3 = relu(%2) \"end\"\n"
    "%4 = linear(%3, out=8)\n"
    "%5 = relu(%4)\n"
    "%6 = linear(%5, out=3)\n"
    "%7 = output(%6)\n";

std::string study(const std::string& frozen, const std::string& data = "") {
  return R"yaml(
model: {base: /in/base.graph, frozen: )yaml" +
         frozen + R"yaml(}
space:
  mutate: [widen, swap_op]
  params: {optimizer: {sgd: {lr: "log(0.01, 0.3)"}}}
train: {epochs: 3}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16)yaml" +
         data + R"yaml(}
strategy: {name: evolution, population: 2, slots: 2}
keep: {top: 8, checkpoint_every: 0s}
)yaml";
}
const std::string kFrozen = "{through: end, weights: /in/weights.safetensors}";

/// A graph and weights that differ from every fresh model.
void put_inputs(FileSystem& disk, float first = 0.5F) {
  const graph::Graph base = *graph::parse(kBase);
  std::vector<Tensor> weights;
  float value = first;
  const std::vector<graph::NamedParam> params = *graph::parameters(base, graph::builtin_ops());
  for (const graph::NamedParam& param : params) {
    if (param.node.value > 3) continue;
    Tensor tensor{.name = param.name, .type = ElementType::kF32, .shape = param.spec.shape.dims, .bytes = {}};
    tensor.bytes.resize(static_cast<std::size_t>(param.spec.shape.elements_per_sample()) * sizeof(float));
    for (float& x : elements_of<float>(tensor)) {
      value = value < 0 ? 0.3F - value * 0.7F : -value;
      x = param.spec.name == "running_var" ? 1 + value * value : value;
    }
    weights.push_back(std::move(tensor));
  }
  ASSERT_TRUE(disk.make_folder("/in"));
  ASSERT_TRUE(write_atomically(disk, "/in/base.graph", kBase));
  ASSERT_TRUE(write_atomically(disk, "/in/weights.safetensors", *formats::encode_safetensors({weights, {}})));
}

testing::StudyProcess process(FileSystem& fs, const std::string& text, std::int64_t trials = 5) {
  return {fs, {.folder = kFolder, .trials = trials, .study = text}};
}

study::StudyView view_of(FileSystem& disk) { return *engine::fold(*store::read_log(disk, kFolder)); }

// Repeats every trial alone, without cached values.
void expect_heads_trained_alone(MemoryFileSystem& disk, const study::StudyView& view) {
  const kernels::FlushToZero as_workers;
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto given = *formats::decode_safetensors(*disk.read("/in/weights.safetensors"));
  int seen = 0;
  for (const study::TrialView& trial : view.trials) {
    if (!trial.outcome || !trial.outcome->weights_hash) continue;
    const graph::Graph model = *study::trial_model(view, trial, graph::builtin_ops());
    const auto part = train::FrozenPrefix::create(
        {.model = model, .frozen = {graph::NodeId{1}, graph::NodeId{2}}, .weights = given.tensors, .step_ops = &ops});
    ASSERT_TRUE(part) << part.error().text();
    const data::Dataset values = *part->features(data, data::StoredSamples::kNothing, nullptr);
    const engine::Job job = *engine::make_job(view.config, data.spec(), trial, model);
    auto trainer = *train::Trainer::create({.trial = job.trial,
                                            .model = part->head(),
                                            .recipe = job.recipe,
                                            .metrics = view.config.train.measured.metrics,
                                            .trial_seed = job.trial_seed,
                                            .data_seed = job.data_seed,
                                            .data = &values,
                                            .step_ops = &ops,
                                            .keep = job.keep,
                                            .known = job.sample});
    while (trainer.epochs_done() < trial.measurements.back().epoch) trainer.step();
    EXPECT_EQ(state_hash(trainer.save()), *trial.outcome->weights_hash) << trial.id.value;
    EXPECT_EQ(trainer.measurements().back().metrics, trial.measurements.back().metrics) << trial.id.value;
    ++seen;
  }
  EXPECT_GE(seen, 3);
}

TEST(FrozenStudy, TrainsTheHeadsOfWholeModels) {
  for (const char* data : {"", ", augment: [noise]"}) {
    SCOPED_TRACE(data);
    MemoryFileSystem disk;
    put_inputs(disk);
    const auto summary = process(disk, study(kFrozen, data)).run();
    ASSERT_TRUE(summary) << summary.error().text();
    const study::StudyView view = view_of(disk);
    expect_heads_trained_alone(disk, view);

    const auto package = engine::read_package(disk, std::string(kFolder) + "/best", graph::builtin_ops());
    ASSERT_TRUE(package) << package.error().text();
    const auto given = *formats::decode_safetensors(*disk.read("/in/weights.safetensors"));
    for (const Tensor& tensor : given.tensors) {
      EXPECT_EQ(std::ranges::count(package->members[0].weights, tensor), 1) << tensor.name;
    }
    // The whole model predicts the test part as the head did after the frozen part.
    auto predictor = inference::Predictor::create(*package);
    ASSERT_TRUE(predictor) << predictor.error().text();
    const data::Dataset set = *data::open(view.config.data, ".", real_file_system());
    const auto& rows = set.rows(data::Part::kTest);
    std::vector<float> features(rows.size() * 4);
    std::vector<std::int32_t> labels(rows.size());
    set.gather_features(rows, features);
    set.gather_labels(rows, labels);
    const inference::Assessment whole = predictor->assess(predictor->predict(features), labels, {});
    EXPECT_FALSE(view.test.empty());
    for (const auto& [name, value] : view.test) EXPECT_EQ(whole.metrics.at(name.substr(5)), value) << name;  // "test_…"
    EXPECT_TRUE(disk.exists(std::string(kFolder) + "/best/model.onnx"));
  }
}

TEST(FrozenStudy, GivesTheSameResultAfterKillsWithoutTheWeightsFile) {
  MemoryFileSystem undisturbed;
  put_inputs(undisturbed);
  ASSERT_TRUE(process(undisturbed, study(kFrozen)).run());
  const auto wanted = *fingerprint(undisturbed);

  int resumed = 0;
  for (std::int64_t at = 12; at < 150; at += 11) {
    MemoryFileSystem disk;
    put_inputs(disk);
    FaultyFileSystem faulty(disk, {.at = at,
                                   .sticky = true,
                                   .torn = at % 2 == 0,
                                   .error = {Code::kResourceExhausted, "No space left on device", "disk"}});
    if (process(faulty, study(kFrozen)).run()) continue;
    if (!disk.exists(std::string(kFolder) + "/log")) continue;
    ASSERT_TRUE(disk.remove("/in/weights.safetensors"));
    const auto second = process(disk, study(kFrozen)).resume();
    if (!second && second.error().code == Code::kNotFound) continue;  // no header yet
    ASSERT_TRUE(second) << at << ": " << second.error().text();
    ASSERT_EQ(*fingerprint(disk), wanted) << at;
    ++resumed;
  }
  EXPECT_GT(resumed, 4);
}

TEST(FrozenStudy, ReportsLostWeightsThatChangedAtTheirSource) {
  MemoryFileSystem disk;
  put_inputs(disk);
  ASSERT_TRUE(process(disk, study(kFrozen)).run());
  const std::string address = view_of(disk).frozen;
  ASSERT_FALSE(address.empty());
  store::CheckpointStore checkpoints(disk, kFolder);
  ASSERT_TRUE(checkpoints.remove(address));

  EXPECT_TRUE(process(disk, study(kFrozen)).resume()) << "read again where they came from";
  EXPECT_TRUE(checkpoints.get(address));

  ASSERT_TRUE(checkpoints.remove(address));
  put_inputs(disk, 0.25F);
  const auto changed = process(disk, study(kFrozen)).resume();
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::kFailedPrecondition);
  EXPECT_NE(changed.error().message.find(address), std::string::npos) << changed.error().text();
}

TEST(FrozenStudy, IsPlannedAsItRuns) {
  MemoryFileSystem disk;
  put_inputs(disk);
  testing::StudyProcess all = process(disk, study(kFrozen));
  const auto models = engine::make_model_space(all.config(), all.data(), ".", disk);
  ASSERT_TRUE(models) << models.error().text();
  const auto plan = engine::plan_study(all.config(), all.data(), *models, {.machine = all.machine()});
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_FALSE(plan->prefixes.empty());
  EXPECT_TRUE(plan->prefixes.front().cache.pays) << plan->prefixes.front().cache.why_not;
  EXPECT_NE(engine::plan_text(*plan, false).find("frozen through %3 relu, shared by "), std::string::npos)
      << engine::plan_text(*plan, false);
}

void expect_refused(const std::string& frozen, const std::string& where, const std::string& message) {
  MemoryFileSystem disk;
  put_inputs(disk);
  const testing::StudyProcess of = process(disk, study(frozen));
  const auto models = engine::make_model_space(of.config(), of.data(), ".", disk);
  ASSERT_FALSE(models) << frozen;
  EXPECT_EQ(models.error().where, where) << models.error().text();
  EXPECT_NE(models.error().message.find(message), std::string::npos) << models.error().text();
}

TEST(FrozenStudy, RejectsInconsistentFields) {
  expect_refused("{through: ent, weights: /in/weights.safetensors}", "model.frozen.through", "did you mean 'end'?");
  expect_refused("{through: '%7', weights: /in/weights.safetensors}", "model.frozen.through", "nothing to train");
  expect_refused("{through: '%4', weights: /in/weights.safetensors}", "model.frozen.weights", "lacks n4.weight");
  expect_refused("{through: end, weights: base}", "model.frozen.weights", "has no weights");
  expect_refused("{through: end, weights: /in/none}", "model.frozen.weights", "/in/none");
}

}  // namespace
}  // namespace lanista::runtime
