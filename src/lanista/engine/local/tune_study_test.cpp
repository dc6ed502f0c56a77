// Studies with tune searches and real training. They are equal with any workers and lanes, killed or not. Replaying a
// trial's schedule gives the trial.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/search/tuning/tuner.h"
#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/full_disk.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::fingerprint;
using engine::testing::kFolder;

std::string study(const std::string& searcher) {
  return "model: {base: builtin:small-mlp}\nspace: {params: {optimizer: [sgd, adam], label_smoothing: \"range(0, "
         "0.1)\"}}\n"
         "train: {epochs: 4, tune: {mltuner: {params: {lr: \"log(1e-4, 1)\", momentum: \"range(0, 0.95)\", "
         "weight_decay: [0, 1e-4]}, retune: 1, trials: 6, searcher: " +
         searcher +
         "}}}\n"
         "data: {source: \"synthetic:blobs?rows=180&classes=3&features=4&seed=1\", batch: 8}\n"
         "strategy: {name: random, slots: 2}\nkeep: {top: 8, checkpoint_every: 0s}\n";
}

/// Trials that may reach larger batches.
std::string batches() {
  std::string text = study("sobol");
  const std::string before = "weight_decay: [0, 1e-4]";
  return text.replace(text.find(before), before.size(), "batch: [8, 16, 32]");
}

/// Trials with an adaptive batch. A measurement is so early that a kill falls between measurements.
const std::string kAdaptive =
    "model: {base: builtin:small-mlp}\nspace: {params: {optimizer: [sgd, adam], lr: \"log(0.005, 0.05)\"}}\n"
    "train: {epochs: 12, schedule: cosine}\n"
    "data: {source: \"synthetic:blobs?rows=180&classes=3&features=4&seed=1\", batch: \"adaptive(4, 32)\"}\n"
    "strategy: {name: random, slots: 2}\nkeep: {top: 8, checkpoint_every: 0s}\n";

/// A search with refinements of its best two trials, and with paused trials that it ends.
const std::string kStaged =
    "model: {base: builtin:small-mlp}\nspace: {params: {optimizer: [sgd, adam], lr: \"log(0.01, 0.3)\", "
    "label_smoothing: \"range(0, 0.1)\"}}\n"
    "train: {epochs: 4, schedule: cosine, warmup_epochs: 1}\n"
    "data: {source: \"synthetic:blobs?rows=180&classes=3&features=4&seed=1\", batch: 8}\n"
    "strategy: {name: random, slots: 2, then: {mltuner: {params: {lr: \"log(1e-4, 1)\", momentum: \"range(0, 0.95)\"}, "
    "retune: 1, trials: 6}, best: 2, end: 2}}\n"
    "stop: {rule: asha, rungs: [1, 2], eta: 2, type: promotion}\nkeep: {top: 8, checkpoint_every: 0s}\n";
/// Models that restart repeatedly.
const std::string kAgain =
    "model: {base: builtin:small-mlp}\nspace: {params: {optimizer: [sgd, adam]}}\ntrain: {epochs: 9}\n"
    "data: {source: \"synthetic:blobs?rows=180&classes=3&features=4&seed=1\", batch: 8}\n"
    "strategy: {name: mltuner, params: {lr: \"log(1e-4, 1)\", momentum: \"range(0, 0.95)\"}, trials: 6, retune: 1, "
    "end: 2, "
    "slots: 2}\nkeep: {top: 8, checkpoint_every: 0s}\n";
constexpr std::int64_t kTrials = 4, kStagedTrials = 6;

Result<engine::RunResult> run(FileSystem& fs, const std::string& text, std::int64_t workers,
                              std::int64_t trials = kTrials) {
  return testing::StudyProcess(fs, {.folder = kFolder, .trials = trials, .workers = workers, .study = text}).run();
}

/// Repeats every trial alone, with its recorded schedule.
void expect_played_back(MemoryFileSystem& disk) {
  const kernels::FlushToZero as_workers;
  const study::StudyView view = *engine::fold(*store::read_log(disk, kFolder));
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  int seen = 0;
  for (const study::TrialView& trial : view.trials) {
    if (!trial.outcome || !trial.outcome->weights_hash) continue;
    auto job =
        *engine::make_job(view.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    const auto nothing = [](const study::Measurement&) {};
    if (job.recipe.tune.name.empty()) continue;
    EXPECT_EQ(repeat_trial(job, 1, {}, data, nothing).error().code, Code::kUnimplemented);
    job.recipe.tune = study::replay_schedule(study::schedule_of(trial.measurements));
    const auto alone =
        repeat_trial(job, trial.measurements.back().epoch, view.config.train.measured.metrics, data, nothing);
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    for (std::size_t i = 0; i < trial.measurements.size(); ++i) {
      EXPECT_EQ(alone->measurements[i].metrics, trial.measurements[i].metrics);
    }
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

TEST(TuneStudy, OfEverySearcherIsTheSameWithAnyWorkers) {
  for (const char* searcher : {"random", "tpe", "gp", "sobol"}) {
    SCOPED_TRACE(searcher);
    MemoryFileSystem one, three;
    const auto ran = run(one, study(searcher), 1);
    ASSERT_TRUE(ran) << ran.error().text();
    ASSERT_TRUE(run(three, study(searcher), 3));

    const study::StudyView view = *engine::fold(*store::read_log(one, kFolder));
    EXPECT_EQ(view.trials.size(), 4U);  // branches are no trials
    for (const study::TrialView& trial : view.trials) {
      ASSERT_FALSE(trial.measurements.empty());
      const auto& branches = trial.measurements.front().branches;
      ASSERT_GT(branches.size(), 2U);
      EXPECT_EQ(branches.front().trend, "start");
      for (std::size_t i = 1; i < branches.size(); ++i) EXPECT_EQ(branches[i].setting.size(), 3U);
    }
    EXPECT_EQ(*fingerprint(three), *fingerprint(one));
  }
}

// The first search keeps the batch size. Later ones begin with the current setting in every batch size, and search up
// to twenty times its rate.
TEST(TuneStudy, ThatTriesLargerBatchesIsTheSameWithAnyWorkers) {
  MemoryFileSystem one, three;
  const auto ran = run(one, batches(), 1);
  ASSERT_TRUE(ran) << ran.error().text();
  ASSERT_TRUE(run(three, batches(), 3));

  const study::StudyView view = *engine::fold(*store::read_log(one, kFolder));
  int later = 0, larger = 0, others = 0;
  for (const study::TrialView& trial : view.trials) {
    space::Sample now;
    for (const study::Measurement& measurement : trial.measurements) {
      const auto& branches = measurement.branches;
      if (measurement.epoch == 1) {
        for (const study::Branch& branch : branches) EXPECT_FALSE(branch.setting.contains("batch"));
      } else if (branches.size() > 3) {
        std::set<double> tried;
        for (std::size_t i = 1; i <= 3; ++i) {
          EXPECT_EQ(branches[i].setting.at("lr"), now.at("lr"));
          tried.insert(std::get<double>(branches[i].setting.at("batch")));
        }
        EXPECT_EQ(tried, (std::set<double>{8, 16, 32}));
        ++later;
        for (const study::Branch& branch : branches) {
          if (branch.setting.empty() || branch.setting.at("lr") == now.at("lr")) continue;
          const double times = std::get<double>(branch.setting.at("lr")) / std::get<double>(now.at("lr"));
          EXPECT_LE(std::abs(std::log(times)), std::log(20.0) + 1e-9);
          ++others;
        }
      }
      for (const study::Branch& branch : branches) {
        if (!branch.kept) continue;
        now = branch.setting;
        larger += now.contains("batch") && std::get<double>(now.at("batch")) > 8 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(later, 0);
  EXPECT_GT(larger, 0);
  EXPECT_GT(others, 0);
  EXPECT_EQ(*fingerprint(three), *fingerprint(one));
  expect_played_back(one);
}

// A trial repeats its schedule, from its records or by measuring again.
TEST(TuneStudy, WithAdaptiveBatchesIsTheSameWithAnyWorkersAndOnReplay) {
  MemoryFileSystem one, three;
  const auto ran = run(one, kAdaptive, 1);
  ASSERT_TRUE(ran) << ran.error().text();
  ASSERT_TRUE(run(three, kAdaptive, 3));
  EXPECT_EQ(*fingerprint(three), *fingerprint(one));

  const kernels::FlushToZero as_workers;
  const study::StudyView view = *engine::fold(*store::read_log(one, kFolder));
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  int changed = 0;
  for (const study::TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.outcome && trial.outcome->weights_hash);
    const auto schedule = study::schedule_of(trial.measurements);
    changed += schedule.empty() ? 0 : 1;
    auto job =
        *engine::make_job(view.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    for (const study::PluginConfig& tune : {job.recipe.tune, study::replay_schedule(schedule)}) {
      job.recipe.tune = tune;
      const auto alone = repeat_trial(job, trial.measurements.back().epoch, view.config.train.measured.metrics, data,
                                      [](const study::Measurement&) {});
      ASSERT_TRUE(alone) << alone.error().text();
      EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value << " " << tune.name;
    }
  }
  EXPECT_GE(changed, 2);
}

TEST(TuneStudy, OfASecondStageIsTheSameWithAnyWorkers) {
  MemoryFileSystem one, three;
  const auto ran = run(one, kStaged, 1, kStagedTrials);
  ASSERT_TRUE(ran) << ran.error().text();
  ASSERT_TRUE(run(three, kStaged, 3, kStagedTrials));

  const study::StudyView view = *engine::fold(*store::read_log(one, kFolder));
  ASSERT_EQ(view.trials.size(), 6U);
  for (const study::TrialView& trial : view.trials) {
    ASSERT_FALSE(trial.measurements.empty());
    const auto& branches = trial.measurements.front().branches;
    EXPECT_EQ(trial.proposal.is_refinement, trial.id.value > 4);
    EXPECT_EQ(branches.empty(), !trial.proposal.is_refinement) << "a refinement reports its tries";
  }
  EXPECT_EQ(*fingerprint(three), *fingerprint(one));
}

TEST(TuneStudy, OfTheStrategyIsTheSameWithAnyWorkers) {
  MemoryFileSystem one, three;
  const auto ran = run(one, kAgain, 1, 7);
  ASSERT_TRUE(ran) << ran.error().text();
  ASSERT_TRUE(run(three, kAgain, 3, 7));

  const study::StudyView view = *engine::fold(*store::read_log(one, kFolder));
  ASSERT_EQ(view.trials.size(), 7U);
  std::map<std::string, std::int64_t> trained;
  std::set<std::string> weights;
  int ended_early = 0;
  for (const study::TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.outcome);
    EXPECT_EQ(trial.proposal.repeat, trained[space::sample_json(trial.proposal.sample).dump()]++);
    EXPECT_EQ(study::trainings_of(view, trial).size(), 1U) << "each stands for itself";
    if (trial.outcome->weights_hash) weights.insert(trial.outcome->weights_hash->hex());
    ended_early += std::ssize(trial.measurements) < 9 ? 1 : 0;
  }
  EXPECT_EQ(trained.size(), 2U);
  EXPECT_EQ(weights.size(), 7U) << "from other values each";
  EXPECT_GT(ended_early, 0);
  EXPECT_EQ(*fingerprint(three), *fingerprint(one));
}

TEST(TuneStudy, ReplaysAFoundScheduleAsTheTrial) {
  MemoryFileSystem all, refined;
  ASSERT_TRUE(run(all, study("random"), 2));
  expect_played_back(all);
  ASSERT_TRUE(run(refined, kStaged, 2, kStagedTrials));
  expect_played_back(refined);
}

void expect_resumes_from_every_change(const std::string& text, std::int64_t trials) {
  MemoryFileSystem undisturbed;
  const auto ran = run(undisturbed, text, 1, trials);
  ASSERT_TRUE(ran) << ran.error().text();
  const auto wanted = *fingerprint(undisturbed);
  const char* asked = std::getenv("LANISTA_TUNE_KILLS");  // 50 of the proof; a few are enough every day
  const int kills = asked == nullptr ? 11 : std::atoi(asked);
  Rng rng(9);
  int resumed = 0;
  for (int process_run = 0; resumed < kills; ++process_run) {
    ASSERT_LT(process_run, 4 * kills + 20);
    resumed += testing::resumes_after_full_disk(rng, 250, wanted, [&](FileSystem& disk) {
      return testing::StudyProcess(disk,
                                   {.folder = kFolder, .trials = trials, .workers = rng.between(1, 3), .study = text});
    });
  }
}

TEST(TuneStudy, ResumesExactlyAfterKills) {
  expect_resumes_from_every_change(study("random"), kTrials);
  expect_resumes_from_every_change(kStaged, kStagedTrials);
  expect_resumes_from_every_change(batches(), kTrials);
  expect_resumes_from_every_change(kAgain, 5);
  expect_resumes_from_every_change(kAdaptive, kTrials);
}

}  // namespace
}  // namespace lanista::runtime
