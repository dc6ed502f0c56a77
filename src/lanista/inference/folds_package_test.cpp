// best/ of a study with folds: the winner's trainings as one package, each with its own normalisation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/inference/model_assessment.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/data/raw_input.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/cpp_program.h"
#include "support/engine/local/study_process.h"

namespace lanista::inference {

namespace testing = runtime::testing;

namespace {

using engine::testing::kFolder;
using testing::TemporaryFolder;

/// Columns with gaps, and categories of a single row, which the training that is measured on it has never seen.
std::string gappy_table(bool classes) {
  std::string out = "a,b,kind,target\n";
  Rng rng = Rng(8).split("gaps");
  for (int i = 0; i < 150; ++i) {
    const double a = rng.normal(), b = 500 + 20 * rng.normal();
    const std::string kind = i % 25 == 7 ? "rare" + std::to_string(i / 25) : rng.below(2) == 0 ? "left" : "right";
    const double y = a + (b - 500) / 20 + (kind == "left" ? 1 : 0) + 0.3 * rng.normal();
    out += (rng.below(5) == 0 ? "" : nlohmann::json(a).dump()) + "," +
           (rng.below(9) == 0 ? "" : nlohmann::json(b).dump()) + "," + kind + "," +
           (classes ? (y > 0.5 ? "x" : "y") : nlohmann::json(1000 + 50 * y).dump()) + "\n";
  }
  return out;
}

constexpr const char* kNewRows =
    "a,b,kind\n0.5,510,rare0\n,530,rare1\n-1,,rare2\n,,rare3\n1.5,480,rare4\n2,,\n0,500,rare5\n,470,left\n1,1,right\n";

struct Trained {
  study::StudyView view;
  data::Dataset data;
  engine::ModelPackage package;
  std::vector<engine::ModelPackage> singles;  ///< as DIR#N gives them, in the members' order
  std::string onnx;
};

Trained trained_on_folds(const std::string& path, const std::string& goal, const std::string& more = "") {
  MemoryFileSystem disk;
  const std::string text =
      "model: {base: builtin:small-mlp}\nspace: {params: {lr: \"log(0.01, 0.1)\"}}\ntrain: {epochs: 3}\n"
      "data: {source: \"csv:" +
      path + "\", batch: 16, folds: 3" + more + "}\ngoal: " + goal +
      "\nstrategy: {name: random, slots: 2}\nstop: {rule: none}\nkeep: {checkpoint_every: 30s}\n";
  const auto end = testing::StudyProcess(disk, {.folder = kFolder, .trials = 6, .workers = 2, .study = text}).run();
  LANISTA_CHECK(end.ok(), end ? "" : end.error().text());
  auto view = *engine::fold(*store::read_log(disk, kFolder));
  auto data = *data::open(view.config.data, ".", real_file_system());
  auto package = engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
  LANISTA_CHECK(package.ok(), package ? "" : package.error().text());
  const store::CheckpointStore checkpoints(disk, kFolder);
  std::vector<engine::ModelPackage> singles;
  for (const auto& member : view.ensemble->members) {
    const study::TrialView& trial = view.trials[member.trial.value - 1];
    auto model = *study::trial_model(view, trial, graph::builtin_ops());
    const auto job = *engine::make_job(view.config, data.spec(), trial, model);
    singles.push_back(engine::make_package(view.config, data.spec(), trial, job.recipe, std::move(model),
                                           store::selected_weights(*checkpoints.get(trial.outcome->weights)), {}));
  }
  return {std::move(view), std::move(data), *std::move(package), std::move(singles),
          *disk.read(kFolder + "/best/model.onnx")};
}

/// The blend by its definition, from the predictions of every training with its own normalisation of a file.
std::vector<double> by_definition(const Trained& all, const std::string& file, bool classes) {
  std::vector<double> out;
  for (const engine::ModelPackage& single : all.singles) {
    const auto raw = *data::read_raw(single.data, file, real_file_system());
    auto predictor = *Predictor::create(single);
    std::vector<double> values = predictor.predict(raw.features);
    if (classes) {
      for (std::size_t i = 0; i < values.size(); i += 2) {
        const long double p = 1 / (1 + std::exp(static_cast<long double>(values[i + 1]) - values[i]));
        values[i] = static_cast<double>(p);
        values[i + 1] = static_cast<double>(1 - p);
      }
    }
    out.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] += values[i] / static_cast<double>(all.singles.size());
  }
  if (classes) std::ranges::transform(out, out.begin(), [](double p) { return std::log(p); });
  return out;
}

TEST(FoldsPackage, AveragesPredictionsOfItsTrainings) {
  for (const bool classes : {true, false}) {
    SCOPED_TRACE(classes ? "classes" : "numbers");
    const TemporaryFolder temporary;
    const std::string path = (temporary.path() / "table.csv").string(),
                      new_rows = (temporary.path() / "new.csv").string();
    testing::write(path, gappy_table(classes));
    testing::write(new_rows, kNewRows);
    const Trained all = trained_on_folds(path, classes ? "minimize val_log_loss" : "minimize val_mae");
    ASSERT_EQ(all.package.members.size(), 3U);
    std::size_t unseen = 0;
    for (const engine::ModelMember& member : all.package.members) unseen += member.own_preprocessing->unseen.size();
    const auto names = data::feature_names(all.package.data);
    const std::size_t width = names.size();
    ASSERT_GT(width, 6U) << "the test's own table";
    EXPECT_EQ(unseen, width - 4) << "each rare category by the one training that is measured on its row";

    const auto raw = data::read_raw(all.package.data, new_rows, real_file_system());
    ASSERT_TRUE(raw) << raw.error().text();
    EXPECT_EQ(raw->missing, 7);
    EXPECT_EQ(static_cast<std::size_t>(raw->unknown), 6 - (width - 4)) << "what one training knows is known";
    auto predictor = *Predictor::create(all.package);
    const std::vector<double> seen = predictor.predict(raw->features);

    const std::vector<double> want = by_definition(all, new_rows, classes);
    ASSERT_EQ(seen.size(), want.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_NEAR(seen[i], want[i], 1e-12 * (1 + std::abs(want[i]))) << i;
    }

    // The other forms take the same raw numbers, gaps and all.
    const auto onnx = *formats::decode_onnx(all.onnx);
    std::vector<std::vector<double>> members;
    Tensor x{.name = "input", .type = ElementType::kF32, .shape = {9, 0}, .bytes = {}};
    x.shape[1] = static_cast<std::int64_t>(width);
    ASSERT_EQ(raw->features.size(), 9 * width);
    x.bytes.resize(raw->features.size() * sizeof(float));
    std::ranges::copy(raw->features, elements_of<float>(x).begin());
    const auto parts = formats::blended_members(onnx, all.package.blend(), all.package.shares());
    ASSERT_TRUE(parts) << parts.error().text();
    for (const formats::OnnxModel& member : *parts) {
      const auto y = run_imported(*formats::from_onnx(member), x);
      ASSERT_TRUE(y) << y.error().text();
      const auto values = elements_of<float>(*y);
      members.emplace_back(values.begin(), values.end());
    }
    const auto of_onnx = blend(all.package.blend(), members, all.package.shares(), classes ? 2 : 1);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(of_onnx[i], want[i], 2e-5 * (1 + std::abs(want[i]))) << i;
    }
    EXPECT_LE(*onnx_difference(all.package, all.onnx, 64), 1e-5);
    const auto source = engine::package_cpp(all.package);
    ASSERT_TRUE(source) << source.error().text();
    const TemporaryFolder build;
    const std::vector<float> of_cpp = testing::predictions(
        build.path(), {*source}, {reinterpret_cast<const char*>(x.bytes.data()), 3 * width * sizeof(float)});
    ASSERT_EQ(of_cpp.size(), want.size() / 3);
    for (std::size_t i = 0; i < of_cpp.size(); ++i) {
      EXPECT_NEAR(of_cpp[i], want[i], 2e-5 * (1 + std::abs(want[i]))) << i;
    }
  }
}

TEST(FoldsPackage, HasTheMeasuredTestMetrics) {
  for (const bool classes : {true, false}) {
    const TemporaryFolder temporary;
    const std::string path = (temporary.path() / "table.csv").string();
    testing::write(path, gappy_table(classes));
    const Trained all =
        trained_on_folds(path, classes ? "minimize val_log_loss" : "minimize val_mae", ", split: [0.5, 0.2, 0.3]");
    const auto& rows = all.data.rows(data::Part::kTest);
    std::vector<float> features(rows.size() * data::feature_names(all.package.data).size()),
        targets(classes ? 0 : rows.size());
    std::vector<std::int32_t> labels(classes ? rows.size() : 0);
    all.data.fold_union()->gather_features(rows, features);
    if (classes) all.data.gather_labels(rows, labels);
    if (!classes) all.data.gather_raw_targets(rows, targets);
    auto predictor = *Predictor::create(all.package);

    const auto assessed = predictor.assess(predictor.predict(features), labels, targets);

    ASSERT_FALSE(all.view.ensemble->test.empty());
    for (const auto& [name, value] : all.view.ensemble->test) {
      const std::string plain = name.substr(name.find('_') + 1);
      EXPECT_NEAR(assessed.metrics.at(plain), value, 1e-9 * (1 + std::abs(value))) << name;
    }
  }
}

TEST(FoldsPackage, IsAssessedOnRowsThatNoneOfItsModelsTrainedOn) {
  const TemporaryFolder temporary;
  const std::string path = (temporary.path() / "table.csv").string();
  testing::write(path, gappy_table(true));
  const Trained all = trained_on_folds(path, "maximize val_accuracy");

  const auto assessed = assess_model(all.package, all.data, true);

  ASSERT_TRUE(assessed) << assessed.error().text();
  ASSERT_EQ(assessed->parts.size(), 2U);
  EXPECT_EQ(assessed->trial, *all.view.winner);
  std::int64_t dealt = 0, right = 0;
  for (const auto& member : all.view.ensemble->members) {
    const study::TrialView& trial = all.view.trials[member.trial.value - 1];
    const std::int64_t rows = all.data.training(trial.proposal.fold).spec().split_rows[1];
    dealt += rows;
    right +=
        std::llround(study::result_of(all.view.config, trial).metrics.at("val_accuracy") * static_cast<double>(rows));
  }
  const study::PartAssessment& part = assessed->parts.front();
  EXPECT_EQ(part.rows, dealt);
  EXPECT_EQ(part.rows, 150 - all.data.spec().split_rows[2]);
  ASSERT_EQ(part.confusion.size(), 4U);
  EXPECT_EQ(part.confusion[0] + part.confusion[3], right);
  const study::PartAssessment& test = assessed->parts.back();
  EXPECT_EQ(test.rows, all.data.spec().split_rows[2]);
  EXPECT_NEAR(static_cast<double>(test.confusion[0] + test.confusion[3]),
              all.view.ensemble->test.at("test_accuracy") * static_cast<double>(test.rows), 1e-9);
}

}  // namespace
}  // namespace lanista::inference
