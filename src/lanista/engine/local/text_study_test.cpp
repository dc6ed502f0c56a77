// Studies of texts that predict the next token at every position. They give equal bits in any execution, and the
// package of the winner predicts as measured.
#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/package.h"
#include "lanista/inference/model_assessment.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/data/raw_input.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/cpp_program.h"
#include "support/engine/local/full_disk.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::Fingerprint;
using engine::testing::fingerprint;
using engine::testing::kFolder;
using testing::StudyProcess;
using testing::TemporaryFolder;

/// Words of a small language, so that there is something to learn.
std::string sampled_text(std::size_t length) {
  static const std::vector<std::string> kWords{"net ", "trident ", "sand ", "the ", "and ", "crowd "};
  Rng rng = Rng(8).split("text");
  std::string out;
  while (out.size() < length) out += kWords[rng.below(kWords.size())];
  return out;
}

class TextStudy : public ::testing::Test {
 protected:
  void SetUp() override { testing::write(place_.path() / "text.txt", sampled_text(1500)); }

  std::string study(const std::string& rest = "", const std::string& keep = "top: 3") const {
    return "model: {space: \"builtin:transformer?width=8&depth=2\"}\n"
           "space: {params: {optimizer: adam, lr: \"log(0.003, 0.03)\", batch: [8, 16]}}\n"
           "data: {source: \"tokens:" +
           (place_.path() / "text.txt").string() +
           "?context=12&task=next_token\"}\ntrain: {epochs: 3}\nstrategy: {name: evolution, population: 4, slots: 3}\n"
           "stop: {rule: asha, rungs: [1, 2], type: promotion}\nkeep: {checkpoint_every: 0s, " +
           keep + "}\n" + rest;
  }
  static StudyProcess process(FileSystem& fs, const std::string& text, std::int64_t workers, std::int64_t lanes = 0) {
    return {fs, {.folder = kFolder, .trials = 8, .workers = workers, .study = text, .lanes = lanes}};
  }

  TemporaryFolder place_;
};

TEST_F(TextStudy, IsTheSameOnAnyLanesAndWorkersAndAfterKills) {
  MemoryFileSystem undisturbed;
  const auto run = process(undisturbed, study(), 1, 1).run();
  ASSERT_TRUE(run) << run.error().text();
  const Fingerprint wanted = *fingerprint(undisturbed);
  const auto view = *engine::fold(*store::read_log(undisturbed, kFolder));
  EXPECT_EQ(view.config.train.measured.metrics, (std::vector<std::string>{"accuracy", "perplexity"}));
  EXPECT_EQ(view.data.at("positions"), 12);
  for (const std::int64_t workers : {1, 2}) {
    MemoryFileSystem disk;
    ASSERT_TRUE(process(disk, study(), workers, 4).run());
    ASSERT_EQ(*fingerprint(disk), wanted) << workers << " workers";
  }
  Rng rng(23);
  int resumed = 0;
  for (int process_run = 0; process_run < 12; ++process_run) {
    resumed += testing::resumes_after_full_disk(rng, 300, wanted, [&](FileSystem& disk) {
      const std::int64_t workers = rng.between(1, 2);
      return process(disk, study(), workers, rng.between(0, 4));
    });
  }
  EXPECT_GT(resumed, 5);
}

// For one model and for a blend, the package predicts raw text as the study measured it. Its ONNX file and its source
// predict the same.
TEST_F(TextStudy, LeavesAPackageThatPredictsAtEveryPosition) {
  for (const char* keep : {"top: 1", "top: 6, ensemble: 6"}) {
    SCOPED_TRACE(keep);
    MemoryFileSystem disk;
    ASSERT_TRUE(process(disk, study("goal: minimize val_loss\n", keep), 2).run());
    const auto view = *engine::fold(*store::read_log(disk, kFolder));
    const auto package = engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
    ASSERT_TRUE(package) << package.error().text();
    EXPECT_EQ(package->members.size() > 1, std::string(keep).find("ensemble") != std::string::npos)
        << "the test's own study";
    EXPECT_EQ(package->data.positions, 12);
    const nlohmann::json facts = nlohmann::json::parse(*disk.read(kFolder + "/best/package.json", 0));
    EXPECT_EQ(facts.at("schema"), 5) << "versions before would take the answers for one";

    auto predictor = inference::Predictor::create(*package);
    ASSERT_TRUE(predictor) << predictor.error().text();
    const auto raw = data::read_raw(package->data, (place_.path() / "text.txt").string(), real_file_system());
    ASSERT_TRUE(raw) << raw.error().text();
    const std::int64_t rows = raw->rows(), tested = package->data.split_rows[2];
    const auto predicted = predictor->predict(raw->features);
    const auto width = static_cast<std::size_t>(predictor->outputs());
    ASSERT_EQ(width, 12U * 256U);
    const auto first = static_cast<std::size_t>(rows - tested);
    const auto assessed =
        predictor->assess(std::span(predicted).subspan(first * width), std::span(raw->labels).subspan(first * 12), {});
    const auto& test = view.ensemble ? view.ensemble->test : view.test;
    EXPECT_EQ(assessed.rows, tested * 12);
    for (const char* metric : {"loss", "accuracy", "perplexity"}) {
      EXPECT_NEAR(assessed.metrics.at(metric), test.at("test_" + std::string(metric)), 1e-9) << metric;
    }
    EXPECT_FALSE(assessed.metrics.contains("roc_auc"));

    // The token after a prefix does not depend on later tokens.
    std::vector<float> other(raw->features.begin(), raw->features.begin() + 12);
    other[9] = 'x';
    const auto changed = predictor->predict(other);
    EXPECT_TRUE(std::equal(changed.begin(), changed.begin() + 9 * 256, predicted.begin()));
    EXPECT_FALSE(std::equal(changed.begin() + 9 * 256, changed.end(), predicted.begin() + 9 * 256));

    const auto difference = inference::onnx_difference(*package, *disk.read(kFolder + "/best/model.onnx", 0), 5);
    ASSERT_TRUE(difference) << difference.error().text();
    EXPECT_LT(*difference, 1e-5);
    const auto source = engine::package_cpp(*package);
    ASSERT_TRUE(source) << source.error().text();
    const TemporaryFolder folder;
    const std::string bytes(reinterpret_cast<const char*>(raw->features.data()), 3 * 12 * sizeof(float));
    const std::vector<float> seen = testing::predictions(folder.path(), {*source}, bytes);
    ASSERT_EQ(seen.size(), 3 * width);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(seen[i]), predicted[i], 1e-4 * (1 + std::fabs(predicted[i]))) << i;
    }
  }
}

TEST_F(TextStudy, RefusesBasesThatDoNotAnswerEverywhere) {
  for (const auto& [base, message] : {std::pair("builtin:small-mlp", "one at each of 12 positions"),
                                      std::pair("builtin:small-cnn", "one at each of 12 positions")}) {
    MemoryFileSystem disk;
    std::string text = study();
    const std::size_t from = text.find("{space: \"builtin:transformer"), to = text.find("}\n", from);
    text.replace(from, to - from, std::string("{base: \"") + base + "\"");
    const auto end = process(disk, text, 1).run();
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().message.find(message), std::string::npos) << end.error().text();
  }
}

}  // namespace
}  // namespace lanista::runtime
