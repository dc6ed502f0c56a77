// Studies on numeric targets in any unit, with real training, and their winners.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/package.h"
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

std::string decimal(double value) { return nlohmann::json(value).dump(); }

/// Friedman's first function of ten features, of which five are noise (1991), in some unit. Targets are multiples of
/// 1/64, so that units of whole numbers round nothing.
std::string friedman(std::int64_t rows, double scale, double shift) {
  std::string out;
  for (int f = 0; f < 10; ++f) out += "x" + std::to_string(f) + ",";
  out += "y\n";
  Rng rng = Rng(12).split("friedman");
  for (std::int64_t i = 0; i < rows; ++i) {
    std::array<double, 10> x{};
    for (double& each : x) out += decimal(each = std::round(1000 * rng.uniform()) / 1000) + ",";
    const double y = 10 * std::sin(std::numbers::pi * x[0] * x[1]) + 20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] +
                     5 * x[4] + rng.normal();
    out += decimal(scale * std::round(64 * y) / 64 + shift) + "\n";
  }
  return out;
}

std::string study_over(const std::string& path, const std::string& targets, std::int64_t epochs) {
  return "model: {base: builtin:small-mlp}\n"
         "space: {mutate: [widen, deepen], params: {optimizer: {sgd: {lr: \"log(0.01, 0.1)\"}, adam: {lr: "
         "\"log(0.003, 0.03)\"}}}}\n"
         "train: {epochs: " +
         std::to_string(epochs) + ", metrics: [r2, mae, rmse, mape]}\ndata: {source: \"csv:" + path +
         "?task=numbers\", batch: 16, targets: " + targets +
         "}\nstrategy: {name: evolution, population: 4, slots: 2}\nstop: {rule: asha, rungs: [1, 2]}\n"
         "keep: {top: 2, checkpoint_every: 0s}\n";
}

study::StudyView view_of(FileSystem& disk) { return *engine::fold(*store::read_log(disk, kFolder)); }

// A regression test: with targets in a large unit, such a study trained almost nothing.
TEST(TargetsStudy, IsInvariantToTheTargetUnit) {
  const TemporaryFolder temporary;
  testing::write(temporary.path() / "plain.csv", friedman(400, 1, 0));
  testing::write(temporary.path() / "large.csv", friedman(400, 50'000, 10'000));
  const auto run = [&](const char* name) {
    MemoryFileSystem disk;
    const std::string text = study_over((temporary.path() / name).string(), "auto", 12);
    const auto end = StudyProcess(disk, {.folder = kFolder, .trials = 10, .study = text}).run();
    EXPECT_TRUE(end) << (end ? "" : end.error().text());
    return view_of(disk);
  };

  const study::StudyView plain = run("plain.csv"), large = run("large.csv");

  ASSERT_EQ(plain.trials.size(), large.trials.size());
  EXPECT_EQ(plain.config.data.targets, "standardize");
  EXPECT_NE(plain.data.at("hash"), large.data.at("hash"));
  for (std::size_t i = 0; i < plain.trials.size(); ++i) {
    const study::TrialView &one = plain.trials[i], &other = large.trials[i];
    EXPECT_EQ(one.proposal.graph_hash, other.proposal.graph_hash);
    EXPECT_EQ(space::sample_json(one.proposal.sample), space::sample_json(other.proposal.sample));
    ASSERT_EQ(one.measurements.size(), other.measurements.size());
    for (std::size_t e = 0; e < one.measurements.size(); ++e) {
      const auto &a = one.measurements[e].metrics, &b = other.measurements[e].metrics;
      EXPECT_NEAR(a.at("val_r2"), b.at("val_r2"), 1e-3);
      EXPECT_NEAR(50'000 * a.at("val_mae"), b.at("val_mae"), 1e-3 * b.at("val_mae"));
    }
  }
  EXPECT_EQ(plain.winner, large.winner);
  EXPECT_NEAR(plain.test.at("test_r2"), large.test.at("test_r2"), 1e-3);
  EXPECT_GT(large.test.at("test_r2"), 0.8);
}

/// A table with missing numbers, a category, and prices in a unit of their own.
std::string flats(std::int64_t rows) {
  std::string out = "area,quarter,price\n";
  Rng rng = Rng(5).split("flats");
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto quarter = rng.below(3);
    const double area = 30 + 90 * rng.uniform();
    const double price = 150'000 + 2500 * area + 40'000 * static_cast<double>(quarter) + 8000 * rng.normal();
    out +=
        (i % 11 == 0 ? "" : decimal(area)) + "," + std::string("ens").substr(quarter, 1) + "," + decimal(price) + "\n";
  }
  return out;
}

class FlatsPackage : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write(place_.path() / "flats.csv", flats(150));
    const std::string text = study_over((place_.path() / "flats.csv").string(), "auto", 4);
    StudyProcess process(disk_, {.folder = kFolder, .trials = 3, .study = text});
    ASSERT_TRUE(process.run());
    spec_ = process.data();
    view_ = view_of(disk_);
    package_ = read();
    raw_ = *data::read_raw(spec_, (place_.path() / "flats.csv").string(), real_file_system());
  }
  engine::ModelPackage read() {
    auto package = engine::read_package(disk_, kFolder + "/best", graph::builtin_ops());
    LANISTA_CHECK(package.ok(), package ? "" : package.error().text());
    return *std::move(package);
  }
  /// The output of the model itself, without units, as in earlier builds.
  std::vector<double> standard_predictions() {
    engine::ModelPackage bare = package_;
    bare.data.target_normalization.reset();
    return inference::Predictor::create(bare)->predict(raw_.features);
  }

  TemporaryFolder place_;
  MemoryFileSystem disk_;
  data::DataSpec spec_;
  study::StudyView view_;
  engine::ModelPackage package_;
  data::RawData raw_;
};

TEST_F(FlatsPackage, PredictsInTheTargetsOwnUnit) {
  ASSERT_TRUE(package_.data.target_normalization);
  EXPECT_EQ(package_.data.target_normalization, spec_.target_normalization);
  const double mean = spec_.target_normalization->mean[0], scale = spec_.target_normalization->scale[0];
  EXPECT_GT(scale, 20'000);
  auto predictor = *inference::Predictor::create(package_);

  const std::vector<double> seen = predictor.predict(raw_.features);

  const std::vector<double> standard = standard_predictions();
  ASSERT_EQ(seen.size(), 150U);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], mean + scale * standard[i], 1e-6);

  // The package predicts the test rows with the bits that the study measured.
  study::DataConfig config = view_.config.data;
  const data::Dataset set = *data::open(config, "", real_file_system());
  const auto& rows = set.rows(data::Part::kTest);
  std::vector<float> features(rows.size() * static_cast<std::size_t>(spec_.features.elements_per_sample()));
  std::vector<float> targets(rows.size());
  set.gather_features(rows, features);
  set.gather_raw_targets(rows, targets);
  const auto predictions = predictor.predict(features);
  const inference::Assessment assessed = predictor.assess(predictions, {}, targets);
  for (const auto& [name, value] : view_.test) {
    ASSERT_TRUE(name.starts_with("test_"));
    EXPECT_EQ(assessed.metrics.at(name.substr(5)), value) << name;
  }
  // The metrics also equal an independent computation from predictions and targets.
  double sum = 0, relative = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double error = std::abs(predictions[i] - double{targets[i]});
    sum += error;
    relative += error / std::abs(double{targets[i]});
  }
  const auto n = static_cast<double>(rows.size());
  EXPECT_NEAR(view_.test.at("test_mae"), sum / n, 1e-9 * sum);
  EXPECT_NEAR(view_.test.at("test_mape"), relative / n, 1e-9);
  EXPECT_LT(view_.test.at("test_loss"), 1) << "better than the mean, in standard units";
  EXPECT_GT(view_.test.at("test_mae"), 100) << "in the prices' own";
}

TEST_F(FlatsPackage, IsExportedWithTheTargetsOwnUnit) {
  const auto onnx = engine::package_onnx(package_);
  ASSERT_TRUE(onnx) << onnx.error().text();
  EXPECT_LE(*inference::onnx_difference(package_, *onnx, 64), 1e-5);
  const auto imported = *formats::from_onnx(*formats::decode_onnx(*onnx));
  EXPECT_EQ(imported.target_mean.size(), 1U);
  EXPECT_EQ(graph::canonical_hash(imported.graph, graph::builtin_ops()),
            graph::canonical_hash(package_.members[0].model, graph::builtin_ops()))
      << "the model itself is no other";

  // Raw rows, the first with a missing number, through the generated program.
  constexpr std::size_t kSamples = 3;
  study::DataConfig plain = view_.config.data;
  plain.normalize = "none";
  const data::Dataset set = *data::open(plain, "", real_file_system());
  const auto width = static_cast<std::size_t>(spec_.features.elements_per_sample());
  std::vector<float> encoded(kSamples * width);
  set.gather_features(std::vector<std::int64_t>{0, 1, 2}, encoded);
  encoded[0] = std::numeric_limits<float>::quiet_NaN();
  const auto source = engine::package_cpp(package_);
  ASSERT_TRUE(source) << source.error().text();
  const std::string_view bytes(reinterpret_cast<const char*>(encoded.data()), encoded.size() * sizeof(float));

  const std::vector<float> seen = testing::predictions(place_.path(), {*source}, bytes);

  const auto wanted = inference::Predictor::create(package_)->predict(std::span(raw_.features).first(kSamples * width));
  ASSERT_EQ(seen.size(), kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) EXPECT_NEAR(double{seen[i]}, wanted[i], 1e-5 * std::abs(wanted[i]));
  // The same raw rows through the ONNX file.
  Tensor input{.name = "x",
               .type = ElementType::kF32,
               .shape = {kSamples, static_cast<std::int64_t>(width)},
               .bytes = std::vector<std::byte>(bytes.size())};
  std::ranges::copy(encoded, elements_of<float>(input).begin());
  const auto by_onnx = inference::run_imported(imported, input);
  ASSERT_TRUE(by_onnx) << by_onnx.error().text();
  for (std::size_t i = 0; i < kSamples; ++i) {
    EXPECT_NEAR(double{elements_of<float>(*by_onnx)[i]}, wanted[i], 1e-5 * std::abs(wanted[i]));
  }
}

// Builds without units must not read standardised values as prices. Packages of such builds have no unit.
TEST_F(FlatsPackage, OfAnOlderBuildIsReadAsRaw) {
  EXPECT_EQ(package_.facts.at("schema"), 2);
  const std::string path = kFolder + "/best/package.json";
  auto facts = nlohmann::json::parse(*disk_.read(path));
  facts["data"].erase("target_normalization");
  facts["schema"] = 1;
  disk_.put(path, facts.dump());

  const engine::ModelPackage old = read();

  EXPECT_FALSE(old.data.target_normalization);
  EXPECT_EQ(inference::Predictor::create(old)->predict(raw_.features), standard_predictions());
  MemoryFileSystem elsewhere;
  ASSERT_TRUE(engine::write_package(elsewhere, "/again", old));
  EXPECT_EQ(nlohmann::json::parse(*elsewhere.read("/again/package.json")).at("schema"), 1);
  EXPECT_EQ(*elsewhere.read("/again/model.onnx"), *engine::package_onnx(old));
}

/// One process that works on an old study, without a form of targets.
class OldStudy {
 public:
  explicit OldStudy(const std::string& text) : config_(*studyfile::read_study(text, "old")) {
    config_.data.targets = "raw";
    const data::Dataset data = *data::open(config_.data, "", real_file_system());
    LANISTA_CHECK(engine::resolve_from_data(config_, data.spec()).ok(), "the test's own study file");
    config_.budget.trials = 6;
  }
  /// It ends by itself, or after so many events unless that is 0.
  Result<engine::RunResult> begin(MemoryFileSystem& disk, const std::string& text, int events) {
    return run_process(disk, config_.data, events, [&](engine::Services services) {
      return engine::Engine::create(kFolder, config_, text, numerics(kernels::best_isa()), std::move(services));
    });
  }
  Result<engine::RunResult> resume(MemoryFileSystem& disk, int events) {
    const study::StudyConfig stored = *engine::stored_config(disk, kFolder);
    EXPECT_EQ(stored.data.targets, "raw");
    return run_process(disk, stored.data, events, [&](engine::Services services) {
      return engine::Engine::resume(kFolder, {}, numerics(kernels::best_isa()), std::move(services));
    });
  }
  std::string text() const { return studyfile::write_study(config_); }
  /// The log as an earlier build wrote it.
  std::string text_of_before() const {
    std::string out = text();
    const std::string line = "  targets: \"raw\"\n";
    const std::size_t at = out.find(line);
    LANISTA_CHECK(at != std::string::npos, out);
    return out.erase(at, line.size());
  }

 private:
  template <class Make>
  Result<engine::RunResult> run_process(MemoryFileSystem& disk, const study::DataConfig& of, int events,
                                        const Make& make) {
    const data::Dataset data = *data::open(of, "", real_file_system());
    engine::WorkerConfig worker_config;
    worker_config.study_folder = kFolder;
    worker_config.workers = 2;
    worker_config.metrics = config_.train.measured.metrics;
    worker_config.checkpoint_every = 0;
    worker_config.crash_marks = false;
    const auto executor = *WorkerExecutor::create(worker_config, data, program::Operators(), disk, clock_);
    std::atomic<int> pause = 0;
    engine::Observer observer;
    observer.on_event = [&, seen = 0](const auto&, const auto&) mutable {
      if (++seen == events) pause = 15;
    };
    LANISTA_ASSIGN(const auto engine, make(engine::Services{.fs = &disk,
                                                            .clock = &clock_,
                                                            .executor = executor.get(),
                                                            .data = &data.spec(),
                                                            .pause = &pause,
                                                            .observer = observer,
                                                            .machine = executor->machine()}));
    return engine->run();
  }

  RealClock clock_;
  study::StudyConfig config_;
};

std::string behind_the_first(const std::string& canonical) { return canonical.substr(canonical.find('\n')); }

TEST(TargetsStudy, OfAnOlderVersionResumesToTheSameBits) {
  const TemporaryFolder temporary;
  testing::write(temporary.path() / "rows.csv", friedman(120, 1, 0));
  OldStudy study(study_over((temporary.path() / "rows.csv").string(), "raw", 4));
  MemoryFileSystem whole;
  ASSERT_TRUE(study.begin(whole, study.text(), 0));
  const auto wanted = *engine::testing::fingerprint(whole);
  ASSERT_FALSE(wanted.weights.empty());

  for (const int events : {1, 4, 9, 14}) {
    MemoryFileSystem disk;
    auto summary = study.begin(disk, study.text_of_before(), events);
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(summary->end, engine::RunEnd::kPaused);
    while (summary->end == engine::RunEnd::kPaused) {
      summary = study.resume(disk, events);
      ASSERT_TRUE(summary) << summary.error().text();
    }
    const auto seen = *engine::testing::fingerprint(disk);
    EXPECT_EQ(seen.weights, wanted.weights);
    EXPECT_EQ(behind_the_first(seen.canonical), behind_the_first(wanted.canonical));
  }
}

}  // namespace
}  // namespace lanista::runtime
