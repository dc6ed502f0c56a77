#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "lanista/exec/program/program.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/spaces/published.h"

namespace lanista::runtime {
namespace {

constexpr std::int64_t kOutputs = 5;
constexpr std::array<std::int64_t, 3> kRows{0, 1, 2};
constexpr auto kBatch = static_cast<std::int64_t>(kRows.size());

mutate::ModelInterface ends_for(std::string_view name) {
  if (name == "wide_deep") return mutate::model_interface(graph::Shape{{7}}, kOutputs);
  if (name != "transformer") return mutate::model_interface(graph::Shape{{1, 8, 8}}, kOutputs);
  return {{{"shape", std::vector<std::int64_t>{12}}, {"dtype", "index"}}, kOutputs};
}

/// The model of the first seeded sample that is valid.
graph::Graph first_model(const mutate::PublishedSpace& published, const mutate::ModelInterface& ends,
                         const nlohmann::json& options = nlohmann::json::object()) {
  const auto ops = graph::builtin_ops();
  const auto blueprint = mutate::published_space(published.name, options, ops, ends);
  EXPECT_TRUE(blueprint.ok()) << blueprint.error().text();
  space::SearchSpace space;
  for (const auto& parameter : blueprint->parameters()) EXPECT_TRUE(space.add(parameter).ok());
  for (std::uint64_t i = 0; i < 50; ++i) {
    space::RandomChooser choose(Rng(i).split(published.name));
    auto model = blueprint->expand(space.sample(choose), ops, ends);
    if (model.ok()) return *std::move(model);
  }
  ADD_FAILURE() << published.name << ": none of fifty samples is a model";
  return {};
}

TEST(PublishedSpaces, GiveModelsThatLearn) {
  for (const mutate::PublishedSpace& published : mutate::published_spaces()) {
    SCOPED_TRACE(published.name);
    const mutate::ModelInterface ends = ends_for(published.name);
    const graph::Graph model = first_model(published, ends);
    const auto ops = autodiff::training_ops(graph::builtin_ops());
    const auto train = autodiff::derive_training_step(model, {.loss = "mse"}, ops);
    ASSERT_TRUE(train.ok()) << train.error().text();
    const auto infer = autodiff::derive_inference_step(model, ops);
    ASSERT_TRUE(infer.ok()) << infer.error().text();
    auto program = program::Program::compile(*train, *infer, {.max_batch = kBatch});
    ASSERT_TRUE(program.ok()) << program.error().text();
    ASSERT_TRUE(program->begin(0, 7));

    const auto types = graph::infer_shapes(model, ops);
    ASSERT_TRUE(types.ok()) << types.error().text();
    const auto& input = types->outputs(model.nodes_of("input").front()).front();
    std::vector<float> x(static_cast<std::size_t>(input.shape.elements(kBatch)));
    Rng samples(3);
    for (float& value : x) {
      value = static_cast<float>(input.dtype == graph::DType::kIndex ? static_cast<double>(samples.below(kOutputs))
                                                                     : samples.normal());
    }
    const std::vector<float> targets(static_cast<std::size_t>(kBatch * kOutputs), 0.5F);
    const program::Batch batch{.size = kBatch, .features = x, .labels = {}, .targets = targets, .sample_index = kRows};
    const std::array<program::LaneHyper, 1> hyper{program::LaneHyper{.lr = 1e-2}};
    const std::array<std::uint8_t, 1> active{1};

    std::vector<double> losses;
    for (int i = 0; i < 10; ++i) {
      std::array<double, 1> loss{};
      program->train_step(std::span(&batch, 1), hyper, active, loss);
      ASSERT_TRUE(std::isfinite(loss[0]));
      losses.push_back(loss[0]);
    }
    EXPECT_LT(losses.back(), losses.front());
  }
}

std::int64_t trained_numbers(const graph::Graph& model) {
  const auto cost = graph::model_cost(model, graph::builtin_ops());
  EXPECT_TRUE(cost.ok()) << cost.error().text();
  return cost->parameters;
}

TEST(PublishedSpaces, SurviveAnOnnxRoundTripAtPublishedSizes) {
  constexpr std::int64_t kMost = 8'000'000;  // larger ones need gigabytes and have no other operators
  int exported = 0;
  for (const mutate::PublishedSpace& published : mutate::published_spaces()) {
    for (const mutate::Preset& preset : published.presets) {
      SCOPED_TRACE(published.name + " " + preset.name);
      const bool small = preset.name.find("cifar10") != std::string::npos;
      const auto ends = small ? mutate::model_interface(graph::Shape{{3, 32, 32}}, 10)
                              : mutate::model_interface(graph::Shape{{3, 224, 224}}, 1000);
      const graph::Graph model = first_model(published, ends, {{"preset", preset.name}});
      if (trained_numbers(model) > kMost) continue;
      const auto params = graph::parameters(model, graph::builtin_ops());
      ASSERT_TRUE(params.ok()) << params.error().text();
      std::vector<Tensor> weights;
      for (const graph::NamedParam& param : *params) {
        Tensor tensor{.name = param.name, .type = ElementType::kF32, .shape = param.spec.shape.dims, .bytes = {}};
        tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * sizeof(float));
        weights.push_back(std::move(tensor));
      }

      const auto file = formats::to_onnx(model, weights, {});
      ASSERT_TRUE(file.ok()) << file.error().text();
      const auto read = formats::decode_onnx(formats::encode_onnx(*file));
      ASSERT_TRUE(read.ok()) << read.error().text();
      const auto imported = formats::from_onnx(*read);
      ASSERT_TRUE(imported.ok()) << imported.error().text();

      EXPECT_TRUE(graph::verify(imported->graph, graph::builtin_ops()).ok());
      EXPECT_EQ(trained_numbers(imported->graph), trained_numbers(model));
      ++exported;
    }
  }
  EXPECT_GE(exported, 10);
}

}  // namespace
}  // namespace lanista::runtime
