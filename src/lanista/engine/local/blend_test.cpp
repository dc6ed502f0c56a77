// Packages of several members. Their predictions, as ONNX files and as compiled C++, equal the definition of the blend.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/package.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/model/graph/text.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/blend_cases.h"
#include "support/engine/local/cpp_program.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using testing::BlendCase;
using testing::TemporaryFolder;

constexpr double kTolerance = 1e-5;

double blend_distance(double seen, double wanted) { return std::abs(seen - wanted) / (1 + std::abs(wanted)); }

constexpr auto kNoCppOptions = [] { return formats::CppExport{.mean = {}, .scale = {}, .labels = {}}; };

/// A package with the case's members, on data with one normalisation, or on raw data.
engine::ModelPackage package_of(const BlendCase& one) {
  const auto units = [](const testing::OnnxCase& member) {
    const auto& o = member.options;
    engine::ModelMember::Preprocessing out;
    if (!o.mean.empty()) out.features = {o.mean, o.scale};
    if (!o.target_mean.empty()) out.targets = data::Normalization{o.target_mean, o.target_scale};
    out.missing = o.missing;
    return out;
  };
  engine::ModelPackage package;
  const auto common = units(one.members.front());
  package.data = engine::testing::small_data();
  package.data.labels.clear();
  package.data.features.dims.assign(one.x.shape.begin() + 1, one.x.shape.end());
  const Tensor y = testing::predict(one);
  const bool classes = one.how == Blend::kClasses;
  package.data.classes = classes ? y.shape.back() : 0;
  package.data.positions = classes && y.shape.size() == 3 ? y.shape[1] : 0;
  package.data.target_size = y.elements() / y.shape.front();
  package.data.vocab = one.members.front().graph.nodes_of("embedding").empty() ? 0 : 7;
  const bool alike = std::ranges::all_of(one.members, [&](const auto& each) { return units(each) == common; });
  if (alike) package.data.normalization = common.features;
  package.data.target_normalization = common.targets;
  package.loss = one.how == Blend::kClasses ? "cross_entropy" : "mse";
  package.facts = {{"study", "sampled"}, {"members", nlohmann::json::array()}};
  for (std::size_t k = 0; k < one.members.size(); ++k) {
    engine::ModelMember& member = package.members.emplace_back();
    member.model = one.members[k].graph;
    member.weights = one.members[k].weights;
    member.precision = "float32";
    member.share = one.shares[k];
    if (!alike) member.own_preprocessing = units(one.members[k]);
    package.facts["members"].push_back({{"trial", k + 1}, {"share", one.shares[k]}});
  }
  return package;
}

TEST(BlendedPackage, PredictsTheBlendAndSoDoesItsOnnxFile) {
  int several_units = 0, filled = 0;
  for (const BlendCase& one : testing::blend_cases(48)) {
    SCOPED_TRACE(one.name);
    const engine::ModelPackage package = package_of(one);
    const bool own = package.members.front().own_preprocessing.has_value();
    // A package needs no labels. Replacements that all members share belong to the schema of the data.
    if (one.how == Blend::kLabels || (!one.members.front().options.missing.empty() && !own)) continue;
    several_units += own ? 1 : 0;
    filled += own && !one.members.front().options.missing.empty() ? 1 : 0;
    auto predictor = inference::Predictor::create(package);
    ASSERT_TRUE(predictor) << predictor.error().text();
    const auto raw = elements_of<float>(one.x);
    std::vector<float> features(raw.begin(), raw.end());
    package.data.normalization.apply(features, package.data.features.elements_per_sample());

    const auto seen = predictor->predict(features);

    const Tensor want = testing::predict(one);
    ASSERT_EQ(std::ssize(seen), want.elements());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_LE(blend_distance(seen[i], elements_of<float>(want)[i]), kTolerance);
    }
    const auto onnx = engine::package_onnx(package);
    ASSERT_TRUE(onnx) << onnx.error().text();
    const auto difference = inference::onnx_difference(package, *onnx, 32);
    ASSERT_TRUE(difference) << difference.error().text();
    EXPECT_LE(*difference, kTolerance);
  }
  EXPECT_GT(several_units, 3);
  EXPECT_GT(filled, 1);
}

// Hidden values of hundreds have rounding errors of 1e-4, independent of the logit that is their sum.
TEST(OnePackage, IsComparedWithItsOnnxFileUpToRounding) {
  for (int number = 0; number < 8; ++number) {
    auto graph = graph::parse(
        "%0 = input(shape=[13])\n%1 = linear(%0, out=128)\n%2 = linear(%1, out=128)\n%3 = linear(%2, out=128)\n"
        "%4 = relu(%3)\n%5 = linear(%4, out=3)\n%6 = output(%5)\n");
    ASSERT_TRUE(graph);
    testing::OnnxCase model = testing::make_case("deep" + std::to_string(number), *std::move(graph));
    for (Tensor& weight : model.weights) {
      for (float& value : elements_of<float>(weight)) value *= 8;
    }
    engine::ModelPackage package = package_of({"deep", Blend::kClasses, {model}, {1}, model.x});
    package.facts = {{"study", "sampled"}, {"trial", 1}};
    const auto onnx = engine::package_onnx(package);
    ASSERT_TRUE(onnx) << onnx.error().text();
    std::vector<Tensor>& weights = package.members.front().weights;
    Rng rng(static_cast<std::uint64_t>(number));
    for (float& value : elements_of<float>(weights.at(1)))
      value = std::nextafter(value, rng.bernoulli(0.5) ? 9.F : -9.F);
    const double rounded = *inference::onnx_difference(package, *onnx, 256);
    EXPECT_GT(rounded, 0);
    EXPECT_LE(rounded, kTolerance) << number;
    const auto last = std::ranges::find(weights, "n5.weight", &Tensor::name);
    ASSERT_NE(last, weights.end());
    for (float& value : elements_of<float>(*last)) value *= 1.001F;
    EXPECT_GT(*inference::onnx_difference(package, *onnx, 256), 10 * kTolerance) << "a thousandth of the last layer";
    const auto bias = std::ranges::find(weights, "n5.bias", &Tensor::name);
    ASSERT_NE(bias, weights.end());
    elements_of<float>(*bias)[0] = std::numeric_limits<float>::infinity();
    const auto endless = inference::onnx_difference(package, *onnx, 4);
    ASSERT_FALSE(endless) << *endless;
    EXPECT_EQ(endless.error().message, "infinity on one side only");
  }
}

TEST(BlendedPackage, DetectsAnOnnxFileThatBlendsDifferently) {
  BlendCase one = testing::blend_cases(5).back();  // of classes
  ASSERT_EQ(one.how, Blend::kClasses);
  const auto onnx = engine::package_onnx(package_of(one));
  ASSERT_TRUE(onnx) << onnx.error().text();

  std::swap(one.shares[0], one.shares[1]);
  EXPECT_EQ(inference::onnx_difference(package_of(one), *onnx, 8).error().code, Code::kDataLoss);
  std::swap(one.shares[0], one.shares[1]);
  elements_of<float>(one.members[1].weights.front())[0] += 1;
  EXPECT_GT(*inference::onnx_difference(package_of(one), *onnx, 8), 1e-3);
}

TEST(BlendedSource, ComputesTheBlend) {
  const auto cases = testing::blend_cases(48);
  const TemporaryFolder folder;
  std::vector<std::string> sources;
  std::string x;
  for (const BlendCase& one : cases) {
    const auto made = formats::to_cpp(one.blended(), kNoCppOptions());
    ASSERT_TRUE(made) << made.error().text();
    sources.push_back(*made);
    x.append(reinterpret_cast<const char*>(one.x.bytes.data()), one.x.bytes.size());
  }

  const std::vector<float> seen = testing::predictions(folder.path(), sources, x);

  std::size_t at = 0;
  for (const BlendCase& one : cases) {
    const Tensor want = testing::predict(one);
    for (const float y : elements_of<float>(want)) {
      ASSERT_LT(at, seen.size());
      EXPECT_LE(blend_distance(seen[at++], y), kTolerance) << one.name;
    }
  }
  EXPECT_EQ(at, seen.size());
}

TEST(BlendedSource, MatchesItsOnlyMember) {
  BlendCase one = testing::blend_cases(1).front();
  one.members.resize(1);
  one.shares = {1};
  const auto& member = one.members.front();
  const auto& o = member.options;
  EXPECT_EQ(*formats::to_cpp(one.blended(), kNoCppOptions()), *formats::to_cpp(member.graph, member.weights,
                                                                               {.mean = o.mean,
                                                                                .scale = o.scale,
                                                                                .labels = {},
                                                                                .missing = o.missing,
                                                                                .target_mean = o.target_mean,
                                                                                .target_scale = o.target_scale}));
  EXPECT_EQ(formats::encode_onnx(*formats::to_onnx(one.blended(), o)),
            formats::encode_onnx(*formats::to_onnx(member.graph, member.weights, o)));
}

TEST(BlendedSource, RefusesMembersThatDoNotFitEachOther) {
  const auto cases = testing::blend_cases(2);  // rows and images
  BlendCase one = cases[0];
  one.members[1] = cases[1].members[1];
  for (auto& member : one.members) member.options = {};
  EXPECT_EQ(formats::to_cpp(one.blended(), {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(formats::to_onnx(one.blended(), {}).error().code, Code::kInvalidArgument);
  one = cases[0];
  one.members[1].weights.pop_back();
  EXPECT_NE(formats::to_cpp(one.blended(), kNoCppOptions()).error().message.find("m2: "), std::string::npos);
  EXPECT_NE(formats::to_onnx(one.blended(), {}).error().message.find("member 2: "), std::string::npos);
}

// A study from its file to best/, with real training.

std::string table_of_classes() {
  std::string out = "a,b,kind\n";
  Rng rng = Rng(3).split("noisy classes");
  for (int i = 0; i < 240; ++i) {
    const double a = rng.normal(), b = rng.normal();
    const bool one = a * b + 0.8 * rng.normal() > 0;
    out +=
        nlohmann::json(a).dump() + "," + (i % 13 == 0 ? "" : nlohmann::json(b).dump()) + "," + (one ? "x" : "y") + "\n";
  }
  return out;
}

std::string table_of_numbers() {
  std::string out = "a,b,price\n";
  Rng rng = Rng(4).split("noisy numbers");
  for (int i = 0; i < 240; ++i) {
    const double a = rng.normal(), b = rng.normal();
    out += nlohmann::json(a).dump() + "," + nlohmann::json(b).dump() + "," +
           nlohmann::json(100'000 + 20'000 * (a * b + 0.5 * rng.normal())).dump() + "\n";
  }
  return out;
}

std::string ensemble_study(const std::string& path, const std::string& goal) {
  return "model: {base: builtin:small-mlp}\nspace: {mutate: [widen, deepen], params: {lr: \"log(0.003, 0.1)\"}}\n"
         "train: {epochs: 4}\ndata: {source: \"csv:" +
         path + "\", batch: 16}\ngoal: " + goal +
         "\nstrategy: {name: random, slots: 2}\nkeep: {top: 6, checkpoint_every: 30s, ensemble: 8}\n";
}

struct Ended {
  study::StudyView view;
  engine::ModelPackage package;
};

Ended run_study(MemoryFileSystem& disk, const std::string& text, std::int64_t workers) {
  const auto end =
      testing::StudyProcess(disk, {.folder = engine::testing::kFolder, .trials = 8, .workers = workers, .study = text})
          .run();
  LANISTA_CHECK(end.ok(), end ? "" : end.error().text());
  auto package = engine::read_package(disk, engine::testing::kFolder + "/best", graph::builtin_ops());
  LANISTA_CHECK(package.ok(), package ? "" : package.error().text());
  return {*engine::fold(*store::read_log(disk, engine::testing::kFolder)), *std::move(package)};
}

TEST(EnsembleStudy, WritesAPackageWithTheMeasuredMetrics) {
  for (const bool classes : {true, false}) {
    const TemporaryFolder temporary;
    const std::string path = (temporary.path() / "table.csv").string();
    testing::write(path, classes ? table_of_classes() : table_of_numbers());
    const std::string text = ensemble_study(path, classes ? "minimize val_log_loss" : "minimize val_mae");
    MemoryFileSystem disk, other;

    const Ended ended = run_study(disk, text, 2), again = run_study(other, text, 1);

    ASSERT_TRUE(ended.view.ensemble) << "the test's own study";
    EXPECT_EQ(*ended.view.ensemble, *again.view.ensemble);
    ASSERT_EQ(ended.package.members.size(), ended.view.ensemble->members.size());
    const std::string goal = classes ? "log_loss" : "mae";
    const auto& winner = ended.view.trials[ended.view.winner->value - 1];
    EXPECT_LT(ended.view.ensemble->validation.at("val_" + goal),
              study::result_of(ended.view.config, winner).metrics.at("val_" + goal));

    const auto config = *studyfile::read_study(text, "test");
    const auto data = *data::open(config.data, ".", real_file_system());
    auto predictor = *inference::Predictor::create(ended.package);
    for (const auto part : {data::Part::kValidation, data::Part::kTest}) {
      const bool test = part == data::Part::kTest;
      const auto& rows = data.rows(part);
      std::vector<float> features(rows.size() * 2);
      data.gather_features(rows, features);
      std::vector<std::int32_t> labels(classes ? rows.size() : 0);
      std::vector<float> targets(classes ? 0 : rows.size());
      if (classes) data.gather_labels(rows, labels);
      if (!classes) data.gather_raw_targets(rows, targets);

      const auto predictions = predictor.predict(features);

      const auto assessed = predictor.assess(predictions, labels, targets);
      const auto& measured = test ? ended.view.ensemble->test : ended.view.ensemble->validation;
      for (const auto& [name, value] : measured) {
        const std::string plain = name.substr(name.find('_') + 1);
        EXPECT_NEAR(assessed.metrics.at(plain), value, 1e-9 * (1 + std::abs(value))) << name;
      }
    }
    EXPECT_LE(*inference::onnx_difference(ended.package, *disk.read(engine::testing::kFolder + "/best/model.onnx"), 64),
              1e-5);
  }
}

}  // namespace
}  // namespace lanista::runtime
