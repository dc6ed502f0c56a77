// Assessments of winners for the report, from studies with real training.
#include "lanista/inference/model_assessment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/inference/predictor.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/cpp_program.h"
#include "support/engine/local/study_process.h"

namespace lanista::inference {

namespace testing = runtime::testing;

namespace {

using engine::testing::kFolder;
using study::PartAssessment;
using testing::StudyProcess;
using testing::TemporaryFolder;

/// A study that has ended, its package and its data.
struct EndedStudy {
  explicit EndedStudy(const std::string& text) {
    const auto end = StudyProcess(disk, {.folder = kFolder, .trials = 3, .study = text}).run();
    LANISTA_CHECK(end.ok(), end ? "" : end.error().text());
    view = *engine::fold(*store::read_log(disk, kFolder));
    package = *engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
    data = *data::open(view.config.data, ".", real_file_system());
  }
  /// Row by row, so that nothing depends on how rows are taken together.
  std::vector<std::vector<double>> predictions(data::Part part) const {
    auto predictor = Predictor::create(package);
    std::vector<float> features(static_cast<std::size_t>(data.spec().features.elements_per_sample()));
    std::vector<std::vector<double>> out;
    for (const std::int64_t row : data.rows(part)) {
      data.gather_features(std::vector<std::int64_t>{row}, features);
      out.push_back(predictor->predict(features));
    }
    return out;
  }
  const study::Measurement& result() const {
    return study::result_of(view.config, view.trials[view.winner->value - 1]);
  }

  MemoryFileSystem disk;
  study::StudyView view;
  engine::ModelPackage package;
  data::Dataset data;
};

TEST(AssessModel, CountsConfusedClasses) {
  const EndedStudy study(
      "model: {base: builtin:small-mlp}\nspace: {params: {lr: \"log(0.01, 0.3)\"}}\ntrain: {epochs: 2}\n"
      "data: {source: \"synthetic:blobs?rows=3000&classes=4&features=3&seed=5\", batch: 16}\n");

  const auto assessed = assess_model(study.package, study.data, true);

  ASSERT_TRUE(assessed) << assessed.error().text();
  EXPECT_EQ(assessed->trial, *study.view.winner);
  EXPECT_EQ(assessed->weights_hash, study.package.facts.at("weights_hash").get<std::string>());
  ASSERT_EQ(assessed->parts.size(), 2U);
  for (const auto& [at, part] : {std::pair(0U, data::Part::kValidation), std::pair(1U, data::Part::kTest)}) {
    const PartAssessment& of = assessed->parts[at];
    const auto& rows = study.data.rows(part);
    std::vector<std::int32_t> labels(rows.size());
    study.data.gather_labels(rows, labels);
    const auto predictions = study.predictions(part);
    std::vector<std::int64_t> confusion(16);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < 4; ++k) {
        if (predictions[i][k] > predictions[i][best]) best = k;
      }
      ++confusion[static_cast<std::size_t>(labels[i]) * 4 + best];
    }
    EXPECT_EQ(of.part, at == 0 ? "validation" : "test");
    EXPECT_EQ(of.rows, static_cast<std::int64_t>(rows.size()));
    EXPECT_EQ(of.lost, 0);
    EXPECT_EQ(of.confusion, confusion);
    double right = 0, fault = 0;
    for (std::size_t k = 0; k < 4; ++k) right += static_cast<double>(confusion[k * 4 + k]);
    for (const study::ConfusedPair& each : of.confused) {
      EXPECT_EQ(each.rows, confusion[static_cast<std::size_t>(each.label * 4 + each.prediction)]);
      fault += static_cast<double>(each.rows);
    }
    EXPECT_EQ(right + fault, static_cast<double>(rows.size()));
    ASSERT_EQ(of.classes.size(), 4U);
    for (std::size_t k = 0; k < 4; ++k) {
      const study::ClassScore& score = of.classes[k];
      const auto label = static_cast<std::size_t>(score.label);
      std::int64_t row = 0, column = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        row += confusion[label * 4 + j];
        column += confusion[j * 4 + label];
      }
      EXPECT_EQ(score.rows, row);
      EXPECT_DOUBLE_EQ(score.recall, static_cast<double>(confusion[label * 5]) / static_cast<double>(row));
      EXPECT_DOUBLE_EQ(score.precision,
                       column == 0 ? 0 : static_cast<double>(confusion[label * 5]) / static_cast<double>(column));
      if (k > 0) {
        EXPECT_GE(score.recall, of.classes[k - 1].recall);
      }
    }
    // The counts give the study's metrics.
    const double accuracy = at == 0 ? study.result().metrics.at("val_accuracy") : study.view.test.at("test_accuracy");
    EXPECT_DOUBLE_EQ(right / static_cast<double>(rows.size()), accuracy);
  }
  EXPECT_EQ(assess_model(study.package, study.data, false)->parts.size(), 1U);
}

/// A table with two thousand rows, so that only some of them are sampled.
std::string table() {
  std::string out = "a,b,y\n";
  Rng rng = Rng(8).split("table");
  for (int i = 0; i < 4000; ++i) {
    const double a = rng.uniform(), b = rng.uniform();
    out += nlohmann::json(a).dump() + "," + nlohmann::json(b).dump() + "," +
           nlohmann::json(1000 + 200 * a - 90 * b + 5 * rng.normal()).dump() + "\n";
  }
  return out;
}

TEST(AssessModel, ReportsResidualsOfNumbers) {
  const testing::TemporaryFolder temporary;
  testing::write(temporary.path() / "t.csv", table());
  const EndedStudy study(
      "model: {base: builtin:small-mlp}\nspace: {params: {lr: \"log(0.01, 0.1)\"}}\n"
      "train: {epochs: 2, metrics: [mae, rmse]}\ndata: {source: \"csv:" +
      (temporary.path() / "t.csv").string() + "?target=y\", batch: 32}\n");

  const auto assessed = assess_model(study.package, study.data, false);

  ASSERT_TRUE(assessed) << assessed.error().text();
  const PartAssessment& of = assessed->parts.at(0);
  const auto& rows = study.data.rows(data::Part::kValidation);
  ASSERT_GT(rows.size(), 500U);
  std::vector<float> targets(rows.size());
  study.data.gather_raw_targets(rows, targets);
  const auto predictions = study.predictions(data::Part::kValidation);
  double mean = 0, square = 0;
  std::vector<double> off;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    off.push_back(static_cast<double>(targets[i]) - predictions[i][0]);
    mean += off.back() / static_cast<double>(rows.size());
    square += off.back() * off.back() / static_cast<double>(rows.size());
  }
  std::sort(off.begin(), off.end());
  ASSERT_EQ(of.residuals.size(), 1U);
  EXPECT_NEAR(of.residuals[0].mean, mean, 1e-9);
  EXPECT_NEAR(of.residuals[0].spread, std::sqrt(square - mean * mean), 1e-6);
  EXPECT_NEAR(std::sqrt(square), study.result().metrics.at("val_rmse"), 1e-6 * std::sqrt(square));
  EXPECT_GE(of.residuals[0].quantiles[3], off[off.size() / 2 - 1]);
  EXPECT_LE(of.residuals[0].quantiles[3], off[off.size() / 2]);
  // Single rows: the expected number, one pair for each row, five digits, and not the first rows.
  EXPECT_EQ(of.actual.size(), PartAssessment::kMaxPoints);
  std::multimap<long, double> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i) pairs.emplace(std::lround(10 * targets[i]), predictions[i][0]);
  std::size_t found = 0;
  for (std::size_t k = 0; k < of.actual.size(); ++k) {
    bool is_one = false;
    for (long key = std::lround(10 * of.actual[k]) - 1; key <= std::lround(10 * of.actual[k]) + 1; ++key) {
      const auto [from, to] = pairs.equal_range(key);
      is_one =
          is_one || std::any_of(from, to, [&](const auto& p) { return std::abs(p.second - of.predicted[k]) < 0.06; });
    }
    found += is_one ? 1 : 0;
    EXPECT_EQ(nlohmann::json(of.actual[k]).dump().size() <= 6, true) << of.actual[k];
  }
  EXPECT_EQ(found, of.actual.size());
  std::size_t same = 0;
  for (std::size_t k = 0; k < of.actual.size(); ++k)
    same += std::abs(of.actual[k] - static_cast<double>(targets[k])) < 0.06 ? 1 : 0;
  EXPECT_LT(same, of.actual.size() / 2) << "these are the first rows, not sampled ones";
  EXPECT_EQ(study::assessment_json(*assess_model(study.package, study.data, false)), study::assessment_json(*assessed));
}

TEST(AssessModel, CountsEveryLabelSeparately) {
  const TemporaryFolder temporary;
  std::string table = "a,b,c,often,seldom,never\n";
  Rng rng = Rng(6).split("labels");
  for (int i = 0; i < 3000; ++i) {
    const double a = rng.normal(), b = rng.normal(), c = rng.normal();
    table += std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c) + "," +
             (a + 0.3 * rng.normal() > -1 ? "1," : "0,") + (b + c > 2.2 ? "1," : "0,") + "0\n";
  }
  testing::write(temporary.path() / "t.csv", table);
  const EndedStudy study(
      "model: {base: builtin:small-mlp}\nspace: {params: {lr: \"log(0.01, 0.3)\"}}\ntrain: {epochs: 2}\n"
      "data: {source: \"csv:" +
      (temporary.path() / "t.csv").string() + "?target=often,seldom,never\", batch: 32}\n");
  ASSERT_TRUE(study.data.spec().multilabel);

  const auto assessed = assess_model(study.package, study.data, true);

  ASSERT_TRUE(assessed) << assessed.error().text();
  EXPECT_TRUE(assessed->multilabel);
  EXPECT_EQ(assessed->outputs, 3);
  ASSERT_EQ(assessed->parts.size(), 2U);
  double worst = 1;
  for (const auto& [of, part] :
       {std::pair(&assessed->parts[0], data::Part::kValidation), std::pair(&assessed->parts[1], data::Part::kTest)}) {
    const auto& rows = study.data.rows(part);
    const auto predictions = study.predictions(part);
    std::vector<float> truth(rows.size() * 3);
    study.data.gather_raw_targets(rows, truth);
    EXPECT_EQ(of->rows, std::ssize(rows));
    EXPECT_EQ(of->lost, 0);
    ASSERT_EQ(of->classes.size(), 3U);
    double before = 0;
    for (const study::ClassScore& score : of->classes) {
      double has = 0, predicted = 0, both = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool is = truth[3 * i + static_cast<std::size_t>(score.label)] == 1;
        const bool is_predicted = predictions[i][static_cast<std::size_t>(score.label)] > 0;
        has += is ? 1 : 0;
        predicted += is_predicted ? 1 : 0;
        both += is && is_predicted ? 1 : 0;
      }
      EXPECT_EQ(static_cast<double>(score.rows), has);
      EXPECT_DOUBLE_EQ(score.recall, has > 0 ? both / has : 0);
      EXPECT_DOUBLE_EQ(score.precision, predicted > 0 ? both / predicted : 0);
      EXPECT_LE(before, score.f1()) << "the worst come first";
      before = score.f1();
      worst = std::min(worst, score.f1());
    }
    EXPECT_GT(before, 0.8) << "the test's own study";
  }
  EXPECT_EQ(worst, 0) << "a label that no row has";
  EXPECT_TRUE(study::read_assessment(study::assessment_json(*assessed).dump()));
}

TEST(AssessModel, RefusesOtherData) {
  const EndedStudy study(testing::kStudy);
  study::DataConfig other = study.view.config.data;
  other.source = "synthetic:blobs?rows=96&classes=3&features=4&seed=2";
  const auto refused = assess_model(study.package, *data::open(other, ".", real_file_system()), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST(AssessModel, ReportsTheWorstOfManyClasses) {
  const EndedStudy study(
      "model: {base: builtin:small-mlp}\nspace: {params: {lr: \"log(0.01, 0.3)\"}}\ntrain: {epochs: 1}\n"
      "data: {source: \"synthetic:blobs?rows=6000&classes=60&features=2&seed=5\", batch: 16}\n");
  const auto assessed = assess_model(study.package, study.data, false);
  const PartAssessment& of = assessed->parts.at(0);
  EXPECT_TRUE(of.confusion.empty());
  EXPECT_EQ(of.classes.size(), PartAssessment::kMaxClasses);
  EXPECT_EQ(of.confused.size(), PartAssessment::kMaxConfusedPairs);
  EXPECT_TRUE(study::read_assessment(study::assessment_json(*assessed).dump()));
}

}  // namespace
}  // namespace lanista::inference
