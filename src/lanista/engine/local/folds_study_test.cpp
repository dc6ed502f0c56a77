// Studies with folds and real training. Every training has the numbers of a study with the same split made by hand, in
// any lanes, and uses none of its validation rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/full_disk.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::fingerprint;
using engine::testing::kFolder;

std::string folded_study(const std::string& source, int folds, int repeat, const std::string& data = "",
                         const std::string& stop = "none") {
  return "model: {base: builtin:small-mlp}\nspace: {params: {lr: \"log(0.01, 0.3)\"}}\ntrain: {epochs: 2}\n"
         "data: {source: \"" +
         source + "\", batch: 16, folds: " + std::to_string(folds) + data +
         "}\n"
         "strategy: {name: random, slots: 4, repeat: " +
         std::to_string(repeat) + "}\nstop: {rule: " + stop +
         "}\n"
         "keep: {top: 8, checkpoint_every: 0s}\n";
}

const std::string kFoldedBlobs = "synthetic:blobs?rows=97&classes=3&features=4&seed=1";

Result<engine::RunResult> run_folds(FileSystem& fs, const std::string& text, std::int64_t trials,
                                    std::int64_t workers) {
  return testing::StudyProcess(fs, {.folder = kFolder, .trials = trials, .workers = workers, .study = text}).run();
}

study::StudyView folded_view(MemoryFileSystem& disk) { return *engine::fold(*store::read_log(disk, kFolder)); }

/// The rows of a fold's training as data without folds.
data::Dataset by_hand(const study::DataConfig& config, const data::Dataset& training) {
  auto raw = *data::open_raw(config, ".", real_file_system());
  const data::Split split{training.rows(data::Part::kTrain), training.rows(data::Part::kValidation),
                          training.rows(data::Part::kTest)};
  return *data::Dataset::make(std::move(raw.first), split, config.normalize, config.targets);
}

void expect_each_as_split_by_hand(MemoryFileSystem& disk, std::size_t at_least) {
  const kernels::FlushToZero as_workers;
  const study::StudyView view = folded_view(disk);
  const auto& config = view.config;
  const data::Dataset data = *data::open(config.data, ".", real_file_system(), config.strategy.repeat);
  std::size_t seen = 0;
  for (const study::TrialView& trial : view.trials) {
    if (!trial.outcome || !trial.outcome->weights_hash) continue;
    ASSERT_TRUE(trial.proposal.fold);
    auto job = *engine::make_job(config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    const auto none = [](const study::Measurement&) {};
    const auto again = repeat_trial(job, trial.measurements.back().epoch, config.train.measured.metrics, data, none);
    const data::Dataset own = by_hand(config.data, data.training(job.fold));
    job.fold.reset();
    const auto alone = repeat_trial(job, trial.measurements.back().epoch, config.train.measured.metrics, own, none);
    ASSERT_TRUE(again.ok() && alone.ok());
    EXPECT_EQ(again->hash, *trial.outcome->weights_hash) << trial.id.value;
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    ASSERT_EQ(alone->measurements.size(), trial.measurements.size());
    for (std::size_t i = 0; i < trial.measurements.size(); ++i) {
      EXPECT_EQ(alone->measurements[i].metrics, trial.measurements[i].metrics);
      EXPECT_EQ(alone->measurements[i].step, trial.measurements[i].step);
    }
    ++seen;
  }
  EXPECT_GE(seen, at_least);
}

TEST(FoldsStudy, TrainsEveryFoldAsDataSplitByHand) {
  MemoryFileSystem blobs, digits, single;
  ASSERT_TRUE(run_folds(blobs, folded_study(kFoldedBlobs, 4, 2, ", augment: [noise]"), 16, 2));
  expect_each_as_split_by_hand(blobs, 16);
  ASSERT_TRUE(
      run_folds(digits, folded_study("builtin:digits", 3, 1, ", augment: [shift, noise], split: [0.3, 0, 0.7]"), 6, 1));
  expect_each_as_split_by_hand(digits, 6);
  ASSERT_TRUE(
      run_folds(single, folded_study("builtin:digits", 3, 1, ", augment: [shift, noise], split: [0.3, 0, 0.7]"), 6, 2));
  EXPECT_EQ(*fingerprint(single), *fingerprint(digits));
}

TEST(FoldsStudy, PackagesTrainingsWithNormalisationsOfTheirFolds) {
  MemoryFileSystem disk;
  ASSERT_TRUE(run_folds(disk, folded_study(kFoldedBlobs, 3, 1), 6, 2));
  const study::StudyView view = folded_view(disk);
  ASSERT_TRUE(view.winner);
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  const auto package = engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(package.ok()) << package.error().text();
  EXPECT_EQ(package->data.hash, data.spec().hash);
  EXPECT_FALSE(view.test.empty());
  ASSERT_EQ(package->members.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    const auto fold = package->facts.at("members")[k].at("fold").get<std::int64_t>();
    EXPECT_EQ(package->members[k].own_preprocessing->features, data.training(fold).spec().normalization);
    // The fold's data in the log suffice for predictions of a trial.
    const auto logged = data::training_spec(*data::parse_spec(view.data), fold);
    ASSERT_TRUE(logged.ok());
    EXPECT_EQ(logged->normalization, data.training(fold).spec().normalization);
  }
}

TEST(FoldsStudy, ResumesExactlyAfterKills) {
  int resumed = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::string text = folded_study(
        kFoldedBlobs, static_cast<int>(rng.between(2, 4)), static_cast<int>(rng.between(1, 2)),
        rng.bernoulli(0.5) ? ", augment: [noise]" : "", rng.bernoulli(0.5) ? "none" : "asha, rungs: [1], eta: 2");
    MemoryFileSystem undisturbed;
    const auto ran = run_folds(undisturbed, text, 12, 1);
    ASSERT_TRUE(ran) << ran.error().text() << "\n" << text;
    const auto wanted = *fingerprint(undisturbed);
    for (int process_run = 0; process_run < 5; ++process_run) {
      resumed += testing::resumes_after_full_disk(rng, 250, wanted, [&](FileSystem& disk) {
        return testing::StudyProcess(disk,
                                     {.folder = kFolder, .trials = 12, .workers = rng.between(1, 3), .study = text});
      });
    }
  }
  EXPECT_GT(resumed, 8);
}

/// A table. The rows in `wild` have enormous values, and the other class or an extreme target.
std::string table_of(int rows, const std::vector<std::int64_t>& wild, bool classes) {
  Rng rng(5);
  std::ostringstream text;
  text << "a,b,c,y\n";
  for (int row = 0; row < rows; ++row) {
    const bool is_wild = std::ranges::binary_search(wild, row);
    const auto a = rng.below(100), b = rng.below(100);
    const bool yes = a > b;
    text << (is_wild ? "-9e6" : std::to_string(a)) << "," << (is_wild ? "" : std::to_string(b)) << ","
         << (row % 3 == 0 ? "u" : "v") << ",";
    if (classes) {
      text << (yes ? "yes" : "no") << "\n";
    } else {
      text << (is_wild ? "77777.5" : std::to_string(a + b) + ".5") << "\n";
    }
  }
  return text.str();
}

TEST(FoldsStudy, LearnsNothingOfTheRowsThatItIsMeasuredOn) {
  const kernels::FlushToZero as_workers;
  for (const bool classes : {true, false}) {
    MemoryFileSystem disk;
    ASSERT_TRUE(write_atomically(disk, "t.csv", table_of(90, {}, classes)));
    auto config = *studyfile::read_study(folded_study("csv:t.csv", 4, 1), "leak");
    config.train.measured.keep = study::kKeepLast;
    const data::Dataset data = *data::open(config.data, "", disk);
    ASSERT_TRUE(engine::resolve_from_data(config, data.spec()));
    const auto models = *engine::make_model_space(config, data.spec(), "", disk, graph::builtin_ops());
    for (std::int64_t fold = 0; fold < 4; ++fold) {
      ASSERT_TRUE(
          write_atomically(disk, "t.csv", table_of(90, data.training(fold).rows(data::Part::kValidation), classes)));
      const data::Dataset wild = *data::open(config.data, "", disk);
      study::TrialView trial;
      trial.id = TrialId{1};
      trial.proposal.sample["lr"] = space::Value(0.05);
      trial.proposal.budget = 2;
      trial.proposal.fold = fold;
      const auto trained = [&](const data::Dataset& on, std::optional<std::int64_t> of) {
        trial.proposal.fold = of;
        const auto job = *engine::make_job(config, on.spec(), trial, models->bases().front().graph);
        return *repeat_trial(job, 2, config.train.measured.metrics, on, [](const study::Measurement&) {});
      };
      const auto before = trained(data, fold), after = trained(wild, fold);
      EXPECT_EQ(before.state.tensors, after.state.tensors) << fold;
      EXPECT_EQ(before.measurements.back().metrics.at("train_loss"),
                after.measurements.back().metrics.at("train_loss"));
      EXPECT_NE(before.measurements.back().metrics.at("val_loss"), after.measurements.back().metrics.at("val_loss"));
      const std::int64_t other = (fold + 1) % 4;
      EXPECT_NE(trained(data, other).state.tensors, trained(wild, other).state.tensors);
    }
  }
}

}  // namespace
}  // namespace lanista::runtime
