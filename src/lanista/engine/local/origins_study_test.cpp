// A study on numbers that float32 cannot hold, and its winner: training, evaluation, predictions and exports.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/package.h"
#include "lanista/inference/compared_predictions.h"
#include "lanista/inference/prediction_columns.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/data/raw_input.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/cpp_program.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::kFolder;
using testing::StudyProcess;
using testing::TemporaryFolder;

constexpr std::size_t kOriginRows = 300;

/// Unix times of one day, a number, and prices near 1e9 that depend on both.
struct Day {
  std::vector<double> time, x, y;
};

Day day() {
  Day out;
  Rng rng = Rng(3).split("day");
  for (std::size_t row = 0; row < kOriginRows; ++row) {
    const double away = rng.uniform(-1, 1);
    out.time.push_back(1.7e9 + std::round(40'000 * away));
    out.x.push_back(rng.normal());
    out.y.push_back(1e9 + 10 * out.x.back() + 10 * away);
  }
  return out;
}

std::string csv_of(const Day& day) {
  std::string out = "time,x,y\n";
  for (std::size_t row = 0; row < kOriginRows; ++row) {
    for (const double value : {day.time[row], day.x[row]}) out += nlohmann::json(value).dump() + ",";
    out += nlohmann::json(day.y[row]).dump() + "\n";
  }
  return out;
}

class OriginsStudy : public ::testing::Test {
 protected:
  /// Runs a study with `data` added to its data section and reads its winner.
  void run(const std::string& data, const std::string& more = "") {
    testing::write(place_.path() / "day.csv", csv_of(day_));
    const std::string text =
        "model: {base: builtin:small-mlp}\nspace: {params: {optimizer: {adam: {lr: 0.02}}}}\n"
        "train: {epochs: 20, metrics: [r2, mae, mape]}\ndata: {source: \"csv:" +
        path() + "?target=y\", batch: 16" + data + "}\n" + more;
    StudyProcess process(disk_, {.folder = kFolder, .trials = 2, .study = text});
    const auto end = process.run();
    ASSERT_TRUE(end) << end.error().text();
    view_ = *engine::fold(*store::read_log(disk_, kFolder));
    auto package = engine::read_package(disk_, kFolder + "/best", graph::builtin_ops());
    ASSERT_TRUE(package) << package.error().text();
    package_ = *std::move(package);
  }
  std::string path() const { return (place_.path() / "day.csv").string(); }
  /// The predictions of all rows as `lanista predict` writes them.
  std::vector<double> written() const {
    const data::RawData raw = *data::read_raw(package_.data, path(), real_file_system());
    auto predictor = *inference::Predictor::create(package_);
    std::vector<double> out;
    for (const double value : predictor.predict(raw.features)) {
      out.push_back(inference::prediction_values(package_.data, std::vector<double>{value})[0]);
    }
    return out;
  }
  /// Checks that `eval` reports the errors of the written predictions against the numbers of the file.
  void expect_true_metrics() const {
    const std::vector<double> predictions = written();
    double absolute = 0, relative = 0;
    for (std::size_t row = 0; row < kOriginRows; ++row) {
      absolute += std::fabs(day_.y[row] - predictions[row]) / kOriginRows;
      relative += std::fabs(day_.y[row] - predictions[row]) / std::fabs(day_.y[row]) / kOriginRows;
    }
    const data::RawData raw = *data::read_raw(package_.data, path(), real_file_system());
    auto predictor = *inference::Predictor::create(package_);
    const auto compared = inference::rows_with_targets(package_.data, raw, predictor.predict(raw.features), 1);
    const auto seen = predictor.assess(compared.values, compared.labels, compared.targets);
    EXPECT_NEAR(seen.metrics.at("mae"), absolute, 1e-6);
    EXPECT_NEAR(seen.metrics.at("mape"), relative, 1e-15);
    EXPECT_NEAR(seen.residuals[0].mae, absolute, 1e-6);
    EXPECT_LT(absolute, 1) << "the deviation is 11";
    EXPECT_GT(seen.metrics.at("r2"), 0.99);
  }
  Tensor raw_rows() const {
    Tensor input{.name = "x", .type = ElementType::kF64, .shape = {kOriginRows, 2}, .bytes = {}};
    input.bytes.resize(2 * kOriginRows * sizeof(double));
    for (std::size_t row = 0; row < kOriginRows; ++row) {
      elements_of<double>(input)[2 * row] = day_.time[row];
      elements_of<double>(input)[2 * row + 1] = day_.x[row];
    }
    return input;
  }

  const Day day_ = day();
  TemporaryFolder place_;
  MemoryFileSystem disk_;
  study::StudyView view_;
  engine::ModelPackage package_;
};

TEST_F(OriginsStudy, MeasuresAndPredictsTheNumbersOfTheFile) {
  run("");

  EXPECT_EQ(package_.facts.at("schema"), 6);
  EXPECT_EQ(package_.facts.at("input").at("dtype"), "float64");
  EXPECT_EQ(package_.data.target_origin, std::vector<double>{1e9});
  EXPECT_LT(view_.test.at("test_mae"), 1);
  EXPECT_LT(view_.test.at("test_mape"), 1e-9);
  expect_true_metrics();
}

TEST_F(OriginsStudy, OfFoldsPredictsTheNumbersOfTheFile) {
  run(", folds: 2", "budget: {trials: 2}\n");

  EXPECT_EQ(package_.members.size(), 2U);
  expect_true_metrics();
  const auto onnx = engine::package_onnx(package_);
  ASSERT_TRUE(onnx) << onnx.error().text();
  const auto difference = inference::onnx_difference(package_, *onnx, 64);
  ASSERT_TRUE(difference) << difference.error().text();
  EXPECT_LE(*difference, 1e-5);
}

TEST_F(OriginsStudy, ExportsModelsInDouble) {
  run("");
  const std::vector<double> expected = written();

  const auto onnx = engine::package_onnx(package_);

  ASSERT_TRUE(onnx) << onnx.error().text();
  const auto difference = inference::onnx_difference(package_, *onnx, 64);
  ASSERT_TRUE(difference) << difference.error().text();
  EXPECT_LE(*difference, 1e-5);
  const auto imported = formats::from_onnx(*formats::decode_onnx(*onnx));
  ASSERT_TRUE(imported) << imported.error().text();
  EXPECT_EQ(imported->origins.input, package_.data.origin);
  const auto output = inference::run_imported(*imported, raw_rows());
  ASSERT_TRUE(output) << output.error().text();
  ASSERT_EQ(output->type, ElementType::kF64);
  for (std::size_t row = 0; row < kOriginRows; ++row) {
    EXPECT_NEAR(elements_of<double>(*output)[row], expected[row], 1e-4) << row;
  }
  // A file with other origins is another model.
  engine::ModelPackage other = package_;
  other.data.origin[0] += 1;
  EXPECT_FALSE(inference::onnx_difference(other, *onnx, 4).ok());
}

TEST_F(OriginsStudy, ExportsCppInDouble) {
  run("");
  const std::vector<double> expected = written();
  const auto source = engine::package_cpp(package_);
  ASSERT_TRUE(source) << source.error().text();
  testing::write(place_.path() / "model.cpp", *source);
  std::string input;
  for (std::size_t row = 0; row < kOriginRows; ++row) {
    input += nlohmann::json(day_.time[row]).dump() + " " + nlohmann::json(day_.x[row]).dump() + "\n";
  }
  testing::write(place_.path() / "in.txt", input);

  ASSERT_TRUE(testing::compiles(place_.path(), "-DLANISTA_MODEL_MAIN -o model model.cpp"));
  ASSERT_EQ(testing::run(place_.path(), "./model < in.txt > out.txt"), 0);

  const std::string output = testing::read(place_.path() / "out.txt");
  const char* at = output.c_str();
  for (std::size_t row = 0; row < kOriginRows; ++row) {
    char* end = nullptr;
    EXPECT_NEAR(std::strtod(at, &end), expected[row], 1e-4) << row;
    at = end;
  }
}

}  // namespace
}  // namespace lanista::runtime
