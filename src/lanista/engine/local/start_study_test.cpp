// Studies with warm starts and real training. They give equal results on any workers, and after a stop at any point.
#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "support/engine/core/random_clones.h"
#include "support/engine/local/study_runs.h"

namespace lanista::runtime {
namespace {

using engine::testing::CustomStudy;
using engine::testing::kFolder;
using testing::canonical;

constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen], params: {lr: log(0.01, 0.3), optimizer: "choice(sgd, adam)"}}
train: {epochs: 3}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: random, slots: 3}
keep: {top: 3, checkpoint_every: 0s}
budget: {trials: 8}
)yaml";

constexpr const char* kWarmStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, deepen], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2, start: study, start_rate: eased}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 4, tournament: 2, slots: 3}
keep: {top: 4, checkpoint_every: 0s}
budget: {trials: 12}
)yaml";

class StartStudy : public testing::BlobStudy {
 protected:
  CustomStudy study(std::uint64_t seed) { return engine::testing::random_clone_study(configured(kStudy, seed), seed); }
  /// Mutations start from the weights that the engine finds for them.
  CustomStudy warm(std::uint64_t seed) const { return testing::as_configured(configured(kWarmStudy, seed)); }
  /// One run of the process. It requests a pause after so many events; 0: never.
  Result<engine::RunResult> run_process(MemoryFileSystem& disk, const CustomStudy& study, std::int64_t workers,
                                        int events, const std::function<void()>& on_event = {},
                                        std::int64_t lanes = 0) {
    return testing::run_process(disk, study, data, clock, {workers, lanes, events, on_event});
  }
};

TEST_F(StartStudy, GivesTheSameResultAfterPausesAndKills) {
  engine::testing::CloneCounts all;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const CustomStudy custom = study(seed);
    MemoryFileSystem reference;
    std::vector<std::map<std::string, std::string>> moments;
    const auto end = run_process(reference, custom, 1, 0, [&] { moments.push_back(reference.files()); });
    ASSERT_TRUE(end) << end.error().text();
    const auto here = engine::testing::count_clones(*engine::fold(*store::read_log(reference, kFolder)));
    all.children += here.children;
    all.grandchildren += here.grandchildren;

    MemoryFileSystem paused;
    Rng rng = Rng(seed).split("pauses");
    for (bool done = false; !done;) {
      const auto summary = run_process(paused, custom, rng.between(1, 4), static_cast<int>(rng.between(1, 6)));
      ASSERT_TRUE(summary) << summary.error().text();
      done = summary->end != engine::RunEnd::kPaused;
    }
    ASSERT_EQ(engine::testing::first_difference(canonical(paused), canonical(reference)), "");

    for (std::size_t i = seed % 3; i < moments.size(); i += 3) {
      MemoryFileSystem killed;
      for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
      const auto summary = run_process(killed, custom, rng.between(1, 4), 0);
      ASSERT_TRUE(summary) << summary.error().text();
      ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
    }
  }
  EXPECT_GT(all.children, 6);
  EXPECT_GT(all.grandchildren, 0);
}

TEST_F(StartStudy, ChoosesTheSameParentsOnAnyWorkersAndAfterKills) {
  int started = 0, fresh = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    const CustomStudy custom = warm(seed);
    MemoryFileSystem reference;
    std::vector<std::map<std::string, std::string>> moments;
    const auto end = run_process(
        reference, custom, 1, 0, [&] { moments.push_back(reference.files()); }, 1);
    ASSERT_TRUE(end) << end.error().text();
    const engine::StudyView view = *engine::fold(*store::read_log(reference, kFolder));
    for (const engine::TrialView& trial : view.trials) {
      if (!trial.outcome) continue;
      if (trial.outcome->kind == study::OutcomeKind::kFailed) ADD_FAILURE() << trial.outcome->reason;
      ++(trial.proposal.start ? started : fresh);
    }
    for (const auto& [workers, lanes] : {std::pair{2, 1}, std::pair{1, 16}, std::pair{2, 16}}) {
      MemoryFileSystem other;
      ASSERT_TRUE(run_process(other, custom, workers, 0, {}, lanes));
      ASSERT_EQ(engine::testing::first_difference(canonical(other), canonical(reference)), "") << workers << lanes;
    }
    for (std::size_t i = seed; i < moments.size(); i += 6) {
      MemoryFileSystem killed;
      for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
      const auto summary = run_process(killed, custom, 2, 0);
      ASSERT_TRUE(summary) << summary.error().text();
      ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
    }
  }
  EXPECT_GT(started, 10);
  EXPECT_GT(fresh, 1);
}

constexpr const char* kCarryStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, add_skip], params: {lr: log(0.001, 0.03)}}
train: {epochs: 2, start: study, start_optimizer: carry, optimizer: adamw, rates: {base: 0.5}}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 4, tournament: 2, slots: 3}
keep: {top: 6, checkpoint_every: 0s}
budget: {trials: 24}
)yaml";

// Optimiser slots and step counts are inherited, and parts have their own rates. Results are equal on any workers and
// lanes, after kills, and alone.
TEST_F(StartStudy, CarriesTheOptimizersStateAndKeepsRatesOfParts) {
  const CustomStudy custom = testing::as_configured(configured(kCarryStudy, 1));
  MemoryFileSystem reference;
  std::vector<std::map<std::string, std::string>> moments;
  const auto end = run_process(
      reference, custom, 1, 0, [&] { moments.push_back(reference.files()); }, 1);
  ASSERT_TRUE(end) << end.error().text();
  for (const auto& [workers, lanes] : {std::pair{2, 1}, std::pair{2, 16}}) {
    MemoryFileSystem other;
    ASSERT_TRUE(run_process(other, custom, workers, 0, {}, lanes));
    ASSERT_EQ(engine::testing::first_difference(canonical(other), canonical(reference)), "") << workers << lanes;
  }
  for (std::size_t i = 0; i < moments.size(); i += 7) {
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
    const auto summary = run_process(killed, custom, 2, 0);
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
  }
  const engine::StudyView view = *engine::fold(*store::read_log(reference, kFolder));
  const store::CheckpointStore files(reference, kFolder);
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  int carried = 0, repeated = 0, fresh = 0;
  for (const engine::TrialView& trial : view.trials) {
    if (!trial.outcome || !trial.outcome->weights_hash) continue;
    auto job = *engine::make_job(custom.config, data.spec(), trial, *study::trial_model(view, trial, ops));
    EXPECT_FALSE(job.recipe.rates.empty());
    if (!trial.proposal.start) continue;
    const bool takes = trial.proposal.start->optimizer == study::kOptimizerCarried;
    ++(takes ? carried : fresh);
    ASSERT_TRUE(engine::plan_start(job, view, ops).ok());
    if (!read_start(files, job, ops)) continue;
    const auto alone = repeat_trial(
        job, trial.measurements.back().epoch, {}, data, [](const study::Measurement&) {}, {}, &files);
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    if (!takes) continue;
    ++repeated;
    job.start->optimizer.clear();
    const auto without = repeat_trial(
        job, trial.measurements.back().epoch, {}, data, [](const study::Measurement&) {}, {}, &files);
    EXPECT_NE(without->hash, *trial.outcome->weights_hash) << trial.id.value;
  }
  EXPECT_GT(carried, 1);
  EXPECT_GT(fresh, 1);
  EXPECT_GT(repeated, 0);
}

// If the transfer plan is exact, the child has the last measurement of its parent before its first step.
TEST_F(StartStudy, BeginsAsItsParentEndedWhereThePlanIsExact) {
  const CustomStudy custom = warm(1);
  MemoryFileSystem disk;
  ASSERT_TRUE(run_process(disk, custom, 2, 0));
  const engine::StudyView view = *engine::fold(*store::read_log(disk, kFolder));
  const store::CheckpointStore files(disk, kFolder);
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  int exact = 0, repeated = 0;
  for (const engine::TrialView& trial : view.trials) {
    if (!trial.proposal.start) continue;
    auto job = *engine::make_job(custom.config, data.spec(), trial, *study::trial_model(view, trial, ops));
    ASSERT_TRUE(engine::plan_start(job, view, ops).ok());
    const auto start = read_start(files, job, ops);
    if (!start) continue;
    auto child = *train::Trainer::create({.trial = trial.id,
                                          .model = job.model,
                                          .recipe = job.recipe,
                                          .metrics = {},
                                          .trial_seed = job.trial_seed,
                                          .data = &data,
                                          .step_ops = &ops,
                                          .start = *start});
    const engine::TrialView& parent = view.trials[trial.proposal.start->parent.value - 1];
    if (job.transfer->exact) {
      const double was = parent.measurements.back().metrics.at("val_loss");
      EXPECT_NEAR(child.evaluate(data::Part::kValidation, "val_").at("val_loss"), was, 1e-5 * std::max(1.0, was));
      ++exact;
    }
    if (!trial.outcome->weights_hash) continue;
    const auto alone = repeat_trial(
        job, trial.measurements.back().epoch, {}, data, [](const study::Measurement&) {}, {}, &files);
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    ++repeated;
  }
  EXPECT_GT(exact, 1);
  EXPECT_GT(repeated, 1);
}

TEST_F(StartStudy, HasChildrenThatCanBeRepeatedWhileTheirStartIsKept) {
  int repeated = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const CustomStudy custom = study(seed);
    MemoryFileSystem disk;
    ASSERT_TRUE(run_process(disk, custom, 2, 0));
    const engine::StudyView view = *engine::fold(*store::read_log(disk, kFolder));
    const store::CheckpointStore files(disk, kFolder);
    const auto models = *engine::make_model_space(custom.config, data.spec(), "", disk);
    for (const engine::TrialView& trial : view.trials) {
      if (!trial.proposal.start || !trial.outcome->weights_hash) continue;
      const auto job = *engine::make_job(custom.config, data.spec(), trial,
                                         *models->rebuild(trial.proposal.base, trial.proposal.edits));
      const auto start = read_start(files, job, graph::builtin_ops());
      if (!start) {
        EXPECT_NE(start.error().message.find("to start from, is lost"), std::string::npos) << start.error().message;
        continue;
      }
      const auto alone = repeat_trial(
          job, trial.measurements.back().epoch, {}, data, [](const study::Measurement&) {}, {}, &files);
      ASSERT_TRUE(alone) << alone.error().text();
      EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << seed << " " << trial.id.value;
      ++repeated;
    }
  }
  EXPECT_GT(repeated, 2);
}

}  // namespace
}  // namespace lanista::runtime
