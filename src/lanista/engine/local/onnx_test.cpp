// Export, bytes and import together: the imported model computes what the exported one does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/text.h"
#include "support/engine/local/onnx_cases.h"

namespace lanista::runtime {
namespace {

using testing::OnnxCase;

constexpr double kTolerance = 1e-5;

/// The model after a way through an ONNX file.
formats::ImportedModel through_file(const OnnxCase& one) {
  const auto exported = formats::to_onnx(one.graph, one.weights, one.options);
  EXPECT_TRUE(exported.ok()) << exported.error().text();
  const auto decoded = formats::decode_onnx(formats::encode_onnx(*exported));
  EXPECT_TRUE(decoded.ok()) << decoded.error().text();
  auto imported = formats::from_onnx(*decoded);
  EXPECT_TRUE(imported.ok()) << imported.error().text() << "\n" << graph::to_text(one.graph);
  return imported ? *std::move(imported) : formats::ImportedModel{one.graph, one.weights, {}, {}, {}};
}

void expect_same_predictions(const std::vector<OnnxCase>& cases) {
  for (const OnnxCase& one : cases) {
    SCOPED_TRACE(one.name);
    const formats::ImportedModel back = through_file(one);
    ASSERT_FALSE(::testing::Test::HasFailure());
    const Tensor want = testing::predict(one);
    const Tensor seen = testing::predict({.name = one.name,
                                          .graph = back.graph,
                                          .weights = back.weights,
                                          .options = {.mean = back.mean,
                                                      .scale = back.scale,
                                                      .metadata = {},
                                                      .missing = {},
                                                      .target_mean = back.target_mean,
                                                      .target_scale = back.target_scale},
                                          .x = one.x});
    ASSERT_EQ(seen.shape, want.shape);
    double worst = 0;
    for (std::size_t i = 0; i < elements_of<float>(want).size(); ++i) {
      const double y = static_cast<double>(elements_of<float>(want)[i]);
      worst = std::max(worst, std::abs(static_cast<double>(elements_of<float>(seen)[i]) - y) / (1 + std::abs(y)));
      ASSERT_TRUE(std::isfinite(y));
    }
    EXPECT_LE(worst, kTolerance) << graph::to_text(one.graph) << graph::to_text(back.graph);
  }
}

TEST(OnnxRoundTrip, KeepsEachOperatorAlone) {
  const std::vector<OnnxCase> cases = testing::operator_cases();

  expect_same_predictions(cases);

  const auto names = graph::builtin_ops().names();
  EXPECT_EQ(testing::operators_of(cases), std::set<std::string>(names.begin(), names.end()));
}

TEST(OnnxRoundTrip, KeepsTheBuiltInBases) {
  const std::vector<OnnxCase> cases = testing::base_cases();
  EXPECT_GE(cases.size(), 10U);

  expect_same_predictions(cases);

  const graph::OpTable ops = graph::builtin_ops();
  for (const OnnxCase& one : cases) {
    EXPECT_EQ(graph::canonical_hash(through_file(one).graph, ops), graph::canonical_hash(one.graph, ops)) << one.name;
  }
}

TEST(OnnxRoundTrip, KeepsModelsOfManyOperators) { expect_same_predictions(testing::composed_cases()); }

TEST(OnnxRoundTrip, KeepsMutatedModels) { expect_same_predictions(testing::mutated_cases(50)); }

// A sum must not take the place of a value that it reads again.
TEST(OnnxImport, ComputesASumThatTakesAValueTwice) {
  formats::OnnxModel model;
  model.inputs = {{.name = "x", .type = ElementType::kF32, .shape = {-1, 4}}};
  model.outputs = {{.name = "y", .type = ElementType::kF32, .shape = {-1, 4}}};
  model.nodes = {
      {"a", "Relu", {"x"}, {"a"}, {}}, {"b", "Tanh", {"x"}, {"b"}, {}}, {"y", "Sum", {"a", "b", "a"}, {"y"}, {}}};
  const auto imported = formats::from_onnx(model);
  ASSERT_TRUE(imported.ok()) << imported.error().text();
  const OnnxCase made = testing::make_case("sum", imported->graph);

  const Tensor y = testing::predict(made.graph, made.weights, {}, {}, made.x);

  for (std::size_t i = 0; i < elements_of<float>(made.x).size(); ++i) {
    const auto x = static_cast<double>(elements_of<float>(made.x)[i]);
    EXPECT_NEAR(elements_of<float>(y)[i], 2 * std::max(x, 0.0) + std::tanh(x), 1e-6) << x;
  }
}

TEST(OnnxRoundTrip, KeepsReplacementsOfMissingNumbers) {
  const auto graph = graph::parse("%0 = input(shape=[3])\n%1 = relu(%0)\n%2 = output(%1)\n");
  ASSERT_TRUE(graph.ok());
  const auto exported = formats::to_onnx(
      *graph, {}, {.mean = {1, 2, 3}, .scale = {4}, .graph_name = "g", .metadata = {}, .missing = {0, 0.5, -1}});
  ASSERT_TRUE(exported.ok()) << exported.error().text();
  const auto decoded = formats::decode_onnx(formats::encode_onnx(*exported));
  ASSERT_TRUE(decoded.ok()) << decoded.error().text();

  const auto back = formats::from_onnx(*decoded);

  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->missing, (std::vector<double>{0, 0.5, -1}));
  EXPECT_EQ(back->mean, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(back->scale, (std::vector<double>{4}));
  EXPECT_EQ(graph::to_text(back->graph), graph::to_text(*graph));
}

TEST(OnnxRoundTrip, KeepsTheUnitOfTargets) {
  int standardised = 0;
  for (const OnnxCase& one : testing::base_cases()) {
    const formats::ImportedModel back = through_file(one);
    ASSERT_EQ(back.target_mean.size(), one.options.target_mean.size()) << one.name;
    ASSERT_EQ(back.target_scale.size(), one.options.target_scale.size()) << one.name;
    for (std::size_t i = 0; i < back.target_mean.size(); ++i) {
      ++standardised;
      EXPECT_EQ(static_cast<float>(back.target_mean[i]), static_cast<float>(one.options.target_mean[i]));
      EXPECT_EQ(static_cast<float>(back.target_scale[i]), static_cast<float>(one.options.target_scale[i]));
    }
  }
  EXPECT_EQ(standardised, 4);
}

// A pattern in our own files is a layer in files of other writers.
TEST(OnnxImport, ReadsNoTargetScalingFromForeignFiles) {
  OnnxCase one = testing::base_cases().back();
  auto model = *formats::to_onnx(one.graph, one.weights, one.options);
  for (Tensor& tensor : model.initializers) {
    if (tensor.name.ends_with(".target_scale")) tensor.name = "factor";
  }
  for (formats::OnnxNode& node : model.nodes) {
    for (std::string& name : node.inputs) {
      if (name.ends_with(".target_scale")) name = "factor";
    }
  }

  const auto back = formats::from_onnx(model);

  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_TRUE(back->target_mean.empty() && back->target_scale.empty());
  const Tensor want = testing::predict(one);
  const Tensor seen = testing::predict(back->graph, back->weights, back->mean, back->scale, one.x);
  for (std::size_t i = 0; i < elements_of<float>(want).size(); ++i) {
    EXPECT_NEAR(elements_of<float>(seen)[i], elements_of<float>(want)[i], 1e-6);
  }
}

TEST(OnnxImport, RefusesAScalingThatIsNotOfItsTargets) {
  const OnnxCase one = testing::base_cases().back();
  auto model = *formats::to_onnx(one.graph, one.weights, one.options);
  for (Tensor& tensor : model.initializers) {
    if (!tensor.name.ends_with(".target_scale") && !tensor.name.ends_with(".target_mean")) continue;
    tensor.shape = {2};
    tensor.bytes.resize(2 * sizeof(float));
    std::ranges::fill(elements_of<float>(tensor), 2.0F);
  }

  const auto back = formats::from_onnx(model);

  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().message.find("brings 2 targets into their unit"), std::string::npos) << back.error().text();
}

TEST(OnnxRoundTrip, KeepsNormalisation) {
  for (const OnnxCase& one : testing::base_cases()) {
    const formats::ImportedModel back = through_file(one);
    EXPECT_EQ(back.mean, one.options.mean) << one.name;
    EXPECT_EQ(back.scale, one.options.scale) << one.name;
  }
}

}  // namespace
}  // namespace lanista::runtime
