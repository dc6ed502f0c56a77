// Generated programs, compiled and run: they compute what nn computes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/model/graph/text.h"
#include "support/engine/local/cpp_program.h"
#include "support/engine/local/onnx_cases.h"

namespace lanista::runtime {
namespace {

using testing::compiles;
using testing::OnnxCase;
using testing::read;
using testing::run;
using testing::TemporaryFolder;
using testing::write;

constexpr double kTolerance = 1e-5;

std::string source(const OnnxCase& one, std::vector<std::string> labels = {}) {
  const auto made = formats::to_cpp(one.graph, one.weights,
                                    {.mean = one.options.mean,
                                     .scale = one.options.scale,
                                     .labels = std::move(labels),
                                     .missing = {},
                                     .target_mean = one.options.target_mean,
                                     .target_scale = one.options.target_scale});
  EXPECT_TRUE(made.ok()) << made.error().text() << "\n" << graph::to_text(one.graph);
  return made ? *made : "";
}

/// The outputs of all cases, concatenated.
std::vector<float> outputs_of(const std::vector<OnnxCase>& cases) {
  const TemporaryFolder folder;
  std::vector<std::string> sources;
  std::string x;
  for (const OnnxCase& one : cases) {
    sources.push_back(source(one));
    x.append(reinterpret_cast<const char*>(one.x.bytes.data()), one.x.bytes.size());
  }
  return testing::predictions(folder.path(), sources, x);
}

void expect_same_predictions(const std::vector<OnnxCase>& cases) {
  const std::vector<float> seen = outputs_of(cases);
  std::size_t at = 0;
  for (const OnnxCase& one : cases) {
    SCOPED_TRACE(one.name);
    const Tensor want = testing::predict(one);
    for (const float y : elements_of<float>(want)) {
      ASSERT_LT(at, seen.size());
      const double difference = std::abs(static_cast<double>(seen[at++]) - static_cast<double>(y));
      ASSERT_LE(difference, kTolerance * (1 + std::abs(static_cast<double>(y)))) << graph::to_text(one.graph);
    }
  }
  EXPECT_EQ(at, seen.size());
}

TEST(CppSource, ComputesEveryOperatorAsTraining) {
  const std::vector<OnnxCase> cases = testing::operator_cases();

  expect_same_predictions(cases);

  const auto names = graph::builtin_ops().names();
  EXPECT_EQ(testing::operators_of(cases), std::set<std::string>(names.begin(), names.end()));
}

TEST(CppSource, ComputesComposedModelsAsTraining) { expect_same_predictions(testing::composed_cases()); }

TEST(CppSource, ComputesNormalisedAndMutatedModelsAsTraining) {
  std::vector<OnnxCase> cases = testing::mutated_cases(16);
  for (OnnxCase& base : testing::base_cases()) {
    const formats::OnnxExport& options = base.options;
    if (!options.mean.empty() || !options.scale.empty() || !options.target_mean.empty())
      cases.push_back(std::move(base));
  }
  expect_same_predictions(cases);
}

// exp(x) - 1 has no digit left of a small x.
TEST(CppSource, KeepsTheDigitsOfSmallNumbers) {
  auto graph = graph::parse(
      "%0 = input(shape=[7])\n%1 = scale_by(%0, by=1e-9)\n%2 = elu(%1)\n%3 = scale_by(%2, by=1e9)\n%4 = output(%3)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  OnnxCase small = testing::make_case("small numbers", *std::move(graph));
  const std::vector<float> seen = outputs_of({small});
  const auto x = elements_of<float>(small.x);
  ASSERT_EQ(seen.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(seen[i], x[i], 1e-5 * (1 + std::abs(x[i])));
}

// One input, two outputs: x + 1 and 2 - x.
OnnxCase tiny_case() {
  OnnxCase one;
  one.graph = *graph::parse("%0 = input(shape=[1])\n%1 = linear(%0, out=2)\n%2 = output(%1)\n");
  for (const char* name : {"n1.weight", "n1.bias"}) {
    Tensor tensor{name, ElementType::kF32, {2}, std::vector<std::byte>(2 * sizeof(float))};
    if (std::string(name) == "n1.weight") tensor.shape = {2, 1};
    elements_of<float>(tensor)[0] = 1;
    elements_of<float>(tensor)[1] = std::string(name) == "n1.weight" ? -1 : 2;
    one.weights.push_back(std::move(tensor));
  }
  return one;
}

TEST(CppSource, FillsMissingNumbersLikeTheTable) {
  const TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  const OnnxCase one = tiny_case();
  const auto made = formats::to_cpp(one.graph, one.weights, {.mean = {5}, .scale = {2}, .labels = {}, .missing = {9}});
  ASSERT_TRUE(made.ok()) << made.error().text();
  write(folder / "model.cpp", *made);
  ASSERT_TRUE(compiles(folder, "-Wpedantic -DLANISTA_MODEL_MAIN model.cpp -o model"));

  write(folder / "x", "9\nnan\n5\n");

  EXPECT_EQ(run(folder, "./model < x > out"), 0);
  EXPECT_EQ(read(folder / "out"), "3 0\n3 0\n1 2\n");  // (9 - 5) / 2 = 2: 2 + 1 and 2 - 2
}

TEST(CppSource, IsAProgramOfItsOwn) {
  const TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  write(folder / "model.cpp", source(tiny_case(), {"\"); // ?\?/ \\", "z\xc3\xa4hl\n"}));
  ASSERT_TRUE(compiles(folder, "-Wpedantic -DLANISTA_MODEL_MAIN model.cpp -o model"));
  ASSERT_TRUE(compiles(folder, "-Wpedantic -c model.cpp -o model.o"));

  write(folder / "good", "3\n\n -0.5 , \r\n");
  EXPECT_EQ(run(folder, "./model < good > out"), 0);
  EXPECT_EQ(read(folder / "out"), "4 -1 \"); // ?\?/ \\\n0.5 2.5 z\xc3\xa4hl\n\n");

  for (const char* bad : {"1 2\n", "1 x\n", "x\n"}) {
    write(folder / "bad", bad);
    EXPECT_EQ(run(folder, "./model < bad > out 2> err"), 1) << bad;
    EXPECT_TRUE(read(folder / "err").starts_with("line 1: wants 1 numbers, begins with ")) << read(folder / "err");
  }
}

}  // namespace
}  // namespace lanista::runtime
