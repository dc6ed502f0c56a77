// Studies that select the best epoch, with real training. best/ and kept weights have the metrics of that epoch, and no
// interruption changes them.
#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/measure_weights.h"
#include "lanista/model/autodiff/training_step.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/full_disk.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::Fingerprint;
using engine::testing::fingerprint;
using engine::testing::kFolder;
using store::Record;
using store::RecordType;

/// Learning rates are so large that most trials are best before their end.
std::string study_text(const std::string& train, const std::string& rest = "") {
  return "model: {base: builtin:small-mlp}\n"
         "space: {mutate: [widen, swap_op], params: {optimizer: [sgd, adam], lr: \"log(0.1, 1)\"}}\n"
         "train: {epochs: 6, " +
         train +
         "}\ndata: {source: \"synthetic:blobs?rows=97&classes=3&features=4&seed=1\", batch: 16}\n"
         "strategy: {name: evolution, population: 3, slots: 3}\nkeep: {top: 8, checkpoint_every: 0s}\n" +
         (rest.empty() ? "goal: minimize val_loss\nstop: {rule: asha, rungs: [2, 4], eta: 2, type: promotion}\n"
                       : rest);
}

/// A goal so coarse that epochs and trials are often equal.
const std::string kAccuracy = "goal: maximize val_accuracy\nstop: {rule: asha, rungs: [2, 4], eta: 2}\n";

testing::StudyProcess keeping_process(FileSystem& fs, const std::string& text, std::int64_t workers,
                                      std::int64_t lanes = 0) {
  return {fs, {.folder = kFolder, .trials = 8, .workers = workers, .study = text, .lanes = lanes}};
}

study::StudyView logged_view(FileSystem& fs) { return *engine::fold(*store::read_log(fs, kFolder)); }

/// Metrics of weights, such as val_loss, by a program that only predicts.
std::map<std::string, double> measured(const study::StudyView& view, const study::TrialView& trial,
                                       const std::vector<Tensor>& weights) {
  const kernels::FlushToZero as_workers;
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto job =
      *engine::make_job(view.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
  return *train::measure_weights({.trial = trial.id,
                                  .model = job.model,
                                  .recipe = job.recipe,
                                  .metrics = view.config.train.measured.metrics,
                                  .data = &data,
                                  .step_ops = &ops},
                                 weights, data::Part::kValidation, "val_");
}

/// The epoch with the least loss; the first one of equals.
const study::Measurement& least(const study::TrialView& trial) {
  return *std::ranges::min_element(trial.measurements, {},
                                   [](const study::Measurement& m) { return m.metrics.at("val_loss"); });
}

void expect_measured(const std::map<std::string, double>& seen, const study::Measurement& wanted) {
  EXPECT_GE(seen.size(), 2U);
  for (const auto& [name, value] : seen) EXPECT_EQ(value, wanted.metrics.at(name)) << name;
}

TEST(KeepStudy, ExportsTheSelectedEpoch) {
  for (const char* precision : {"float32", "float64"}) {
    MemoryFileSystem disk;
    ASSERT_TRUE(keeping_process(disk, study_text("precision: " + std::string(precision)), 2).run());
    const study::StudyView view = logged_view(disk);
    const store::CheckpointStore checkpoints(disk, kFolder);
    int earlier = 0;
    for (const TrialId id : study::ranking(view)) {
      const study::TrialView& trial = view.trials[id.value - 1];
      ASSERT_FALSE(trial.outcome->weights.empty());
      const auto stored = checkpoints.get(trial.outcome->weights);
      ASSERT_TRUE(stored);
      earlier += stored->kept.empty() ? 0 : 1;
      EXPECT_EQ(stored->kept.empty(), &least(trial) == &trial.measurements.back());
      expect_measured(measured(view, trial, store::selected_weights(*stored)), least(trial));
    }
    EXPECT_GE(earlier, 3);

    ASSERT_TRUE(view.winner);
    const study::TrialView& winner = view.trials[view.winner->value - 1];
    for (const study::TrialView& trial : view.trials) {
      if (!trial.outcome || !study::ranks(trial, *trial.outcome)) continue;
      EXPECT_LE(least(winner).metrics.at("val_loss"), least(trial).metrics.at("val_loss"));
    }
    const auto package = engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
    ASSERT_TRUE(package) << package.error().text();
    expect_measured(measured(view, winner, package->members[0].weights), least(winner));
    EXPECT_EQ(package->facts.at("epochs"), least(winner).epoch);
    EXPECT_EQ(package->facts.at("metrics").at("training").at("val_loss"), least(winner).metrics.at("val_loss"));
  }
}

TEST(KeepStudy, TestsTheWinnerWithTheWeightsThatItKeeps) {
  MemoryFileSystem disk;
  const std::string text = study_text("schedule: constant", "goal: minimize val_loss\n");
  testing::StudyProcess one(disk, {.folder = kFolder, .trials = 4, .workers = 1, .study = text});
  ASSERT_TRUE(one.run());
  const study::StudyView view = logged_view(disk);
  const study::TrialView& winner = view.trials[view.winner->value - 1];
  ASSERT_LT(least(winner).epoch, 6) << "the test's own study";
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  const auto package = engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto job =
      *engine::make_job(view.config, data.spec(), winner, *study::trial_model(view, winner, graph::builtin_ops()));
  const kernels::FlushToZero as_workers;
  const auto seen = train::measure_weights({.trial = winner.id,
                                            .model = job.model,
                                            .recipe = job.recipe,
                                            .metrics = view.config.train.measured.metrics,
                                            .data = &data,
                                            .step_ops = &ops},
                                           package->members[0].weights, data::Part::kTest, "test_");
  EXPECT_EQ(view.test, *seen);
}

TEST(KeepStudy, IsTheSameOnAnyLanesAndWorkersAndAfterKills) {
  int resumed = 0;
  for (const std::string& text : {study_text("schedule: constant"), study_text("steps_per_epoch: 3"),
                                  study_text("schedule: constant", kAccuracy)}) {
    MemoryFileSystem undisturbed;
    ASSERT_TRUE(keeping_process(undisturbed, text, 1, 1).run());
    const Fingerprint wanted = *fingerprint(undisturbed);
    for (const std::int64_t lanes : {1, 4}) {
      for (const std::int64_t workers : {1, 2}) {
        MemoryFileSystem disk;
        ASSERT_TRUE(keeping_process(disk, text, workers, lanes).run());
        ASSERT_EQ(*fingerprint(disk), wanted) << lanes << " lanes, " << workers << " workers";
      }
    }
    Rng rng(17);
    for (int process_run = 0; process_run < 20; ++process_run) {
      resumed += testing::resumes_after_full_disk(rng, 400, wanted, [&](FileSystem& disk) {
        const std::int64_t workers = rng.between(1, 2);
        return keeping_process(disk, text, workers, rng.between(0, 4));
      });
    }
  }
  EXPECT_GT(resumed, 20);
}

// All inputs of a selection rule come from the job, so that constraints see the logged values. The goal opposes the
// constraints: the selected epoch has the largest loss that they allow.
TEST(KeepStudy, SatisfiesConstraintsFirst) {
  for (const char* constraint : {"val_loss * params <= 100", "val_loss * flops <= 300", "val_loss <= lr"}) {
    SCOPED_TRACE(constraint);
    MemoryFileSystem disk;
    ASSERT_TRUE(
        keeping_process(disk,
                        study_text("schedule: constant", "goal: [maximize! val_loss, minimize params]\nsubject_to: [" +
                                                             std::string(constraint) + "]\n"),
                        2)
            .run());
    const study::StudyView view = logged_view(disk);
    const store::CheckpointStore checkpoints(disk, kFolder);
    int seen = 0, bound = 0;
    for (const TrialId id : study::ranking(view)) {
      const study::TrialView& trial = view.trials[id.value - 1];
      const study::Measurement& result = study::result_of(view.config, trial);
      expect_measured(measured(view, trial, store::selected_weights(*checkpoints.get(trial.outcome->weights))), result);
      ++seen;
      const auto most = std::ranges::max_element(trial.measurements, {},
                                                 [](const study::Measurement& m) { return m.metrics.at("val_loss"); });
      bound += most->epoch != result.epoch ? 1 : 0;
    }
    EXPECT_GE(seen, 5);
    EXPECT_GE(bound, 2) << "trials that the constraint kept from their largest loss";
  }
}

/// The log of the study as an older build wrote it, which lacks the settings of these lines of the resolved file.
void make_old(MemoryFileSystem& disk, const std::vector<Record>& records, const std::vector<std::string>& unknown) {
  RealClock clock;
  auto log = *store::LogWriter::open(disk, clock, kFolder);
  for (const Record& record : records) {
    nlohmann::json body = record.body;
    for (const char* name : {"config", "text"}) {
      if (record.type != RecordType::kHeader) continue;
      std::string text = body.at(name);
      for (const std::string& setting : unknown) {
        const std::size_t line = text.find(setting);
        ASSERT_NE(line, std::string::npos) << setting;
        text.erase(line, setting.size());
      }
      body[name] = text;
    }
    ASSERT_TRUE(log.append(record.type, body));
  }
}

/// A study of `text` that an older build without those settings began. It ends as `text` defines, wherever this build
/// resumes it.
void expect_resumes_as_begun(const std::string& text, const std::vector<std::string>& unknown, Rng rng) {
  MemoryFileSystem whole;
  ASSERT_TRUE(keeping_process(whole, text, 1).run());
  const Fingerprint wanted = *fingerprint(whole);
  const std::vector<Record> records = *store::read_log(whole, kFolder);
  for (int process_run = 0; process_run < 8; ++process_run) {
    MemoryFileSystem disk;
    const auto length = static_cast<std::ptrdiff_t>(rng.between(2, std::ssize(records) - 1));
    make_old(disk, {records.begin(), records.begin() + length}, unknown);
    const auto end = keeping_process(disk, text, 2).resume();
    ASSERT_TRUE(end) << end.error().text();
    const Fingerprint seen = *fingerprint(disk);
    const auto without_header = [](const std::string& canonical) { return canonical.substr(canonical.find('\n')); };
    EXPECT_EQ(without_header(seen.canonical), without_header(wanted.canonical));
    EXPECT_EQ(seen.weights, wanted.weights);
    const study::TrainConfig& train = logged_view(disk).config.train;
    EXPECT_EQ(train.measured.keep, logged_view(whole).config.train.measured.keep);
    EXPECT_EQ(train.measured.ties, logged_view(whole).config.train.measured.ties);
  }
}

const std::string kTies = "  ties: \"earlier\"\n", kLast = "  keep: \"last\"\n";

TEST(KeepStudy, OfABuildWithoutSelectionUsesItsLastEpochs) {
  const std::string text = study_text("keep: last, ties: earlier");
  expect_resumes_as_begun(text, {kLast, kTies}, Rng(5));

  MemoryFileSystem whole;
  ASSERT_TRUE(keeping_process(whole, text, 1).run());
  const study::StudyView view = logged_view(whole);
  const study::TrialView& winner = view.trials[view.winner->value - 1];
  const auto package = engine::read_package(whole, kFolder + "/best", graph::builtin_ops());
  expect_measured(measured(view, winner, package->members[0].weights), winner.measurements.back());
}

TEST(KeepStudy, OfABuildWithoutTiesSelectsTheEarlierOfEquals) {
  expect_resumes_as_begun(study_text("ties: earlier", kAccuracy), {kTies}, Rng(6));
}

// The same trials train either way. The loss decides the selected epochs and the winner.
TEST(KeepStudy, TiesOfAccuracyAreDecidedByTheLoss) {
  std::map<std::string, study::StudyView> views;
  for (const char* ties : {"loss", "earlier"}) {
    MemoryFileSystem disk;
    ASSERT_TRUE(keeping_process(disk, study_text("ties: " + std::string(ties), kAccuracy), 2).run());
    views[ties] = logged_view(disk);
    const study::StudyView& view = views[ties];
    const study::TrialView& winner = view.trials[view.winner->value - 1];
    const auto package = engine::read_package(disk, kFolder + "/best", graph::builtin_ops());
    expect_measured(measured(view, winner, package->members[0].weights), study::result_of(view.config, winner));
  }
  int decided = 0;
  ASSERT_EQ(views["loss"].trials.size(), views["earlier"].trials.size());
  for (std::size_t i = 0; i < views["loss"].trials.size(); ++i) {
    const study::TrialView& trial = views["loss"].trials[i];
    ASSERT_EQ(trial.measurements.size(), views["earlier"].trials[i].measurements.size());
    const auto& by_loss = study::result_of(views["loss"].config, trial).metrics;
    const auto& earlier = study::result_of(views["earlier"].config, views["earlier"].trials[i]).metrics;
    EXPECT_EQ(by_loss.at("val_accuracy"), earlier.at("val_accuracy"));
    EXPECT_LE(by_loss.at("val_loss"), earlier.at("val_loss"));
    decided += by_loss.at("val_loss") < earlier.at("val_loss") ? 1 : 0;
    for (const study::Measurement& m : trial.measurements) {
      if (m.metrics.at("val_accuracy") != by_loss.at("val_accuracy")) continue;
      EXPECT_GE(m.metrics.at("val_loss"), by_loss.at("val_loss"));
    }
  }
  EXPECT_GE(decided, 1) << "the test's own study";
}

TEST(KeepStudy, IsRepeatedToTheBit) {
  MemoryFileSystem disk;
  ASSERT_TRUE(keeping_process(disk, study_text("schedule: cosine"), 2).run());
  const study::StudyView view = logged_view(disk);
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  int earlier = 0;
  for (const study::TrialView& trial : view.trials) {
    if (!trial.outcome || !trial.outcome->weights_hash) continue;
    const auto job =
        *engine::make_job(view.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    const auto alone = repeat_trial(job, trial.measurements.back().epoch, view.config.train.measured.metrics, data,
                                    [](const study::Measurement&) {});
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    earlier += alone->state.kept.empty() ? 0 : 1;
  }
  EXPECT_GE(earlier, 2);
}

}  // namespace
}  // namespace lanista::runtime
