#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lanista/engine/local/trial_slot.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::runtime {

inline constexpr std::int64_t kEpochs = 3;

/// Trials on the digits, in an executor and without one.
class WorkerExecutorTest : public ::testing::Test {
 protected:
  WorkerExecutorTest() : data_(*data::open({}, ".", real_file_system())) {
    folder_ = (std::filesystem::temp_directory_path() / ("lanista-executor-" + std::to_string(::getpid()))).string();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/ckpt");
  }
  ~WorkerExecutorTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<WorkerExecutor> make(engine::WorkerConfig worker_config = {}, const WorkerOptions& options = {}) {
    if (worker_config.workers == 0) worker_config.workers = 2;
    return make(std::move(worker_config), real_file_system(), clock_, options);
  }
  std::unique_ptr<WorkerExecutor> make(engine::WorkerConfig worker_config, FileSystem& fs, const Clock& clock,
                                       const WorkerOptions& options = {}) {
    worker_config.study_folder = folder_;
    return *WorkerExecutor::create(worker_config, data_, ops_, fs, clock, options);
  }

  engine::Job job(std::uint32_t id, const std::string& base = "small-mlp") {
    engine::Job job;
    job.trial = TrialId{id};
    job.model = mutate::builtin_base(base, data_.spec().features, 10)->graph;
    job.recipe.loss = "cross_entropy";
    job.recipe.optimizer = "adam";
    job.recipe.schedule = "constant";
    job.recipe.precision = "float32";
    job.recipe.epochs = kEpochs;
    job.recipe.batch = 32;
    job.recipe.lr = 0.01;
    job.recipe.beta1 = 0.9;
    job.recipe.beta2 = 0.999;
    job.recipe.eps = 1e-8;
    job.trial_seed = id;
    job.data_seed = 5;
    return job;
  }

  train::TrainerInput input(const engine::Job& job, const graph::OpTable& step_ops) {
    return {.trial = job.trial,
            .model = job.model,
            .recipe = job.recipe,
            .metrics = {},
            .trial_seed = job.trial_seed,
            .data_seed = job.data_seed,
            .data = &data_,
            .step_ops = &step_ops};
  }

  /// The trial, trained without an executor.
  train::Trainer plain(const engine::Job& job, const graph::OpTable& step_ops) {
    return *train::Trainer::create(input(job, step_ops));
  }

  /// Its state at the end.
  Digest trained_alone(std::uint32_t id, const graph::OpTable& step_ops) {
    auto alone = plain(job(id), step_ops);
    for (std::int64_t i = 0; i < kEpochs * alone.steps_per_epoch(); ++i) alone.step();
    return state_hash(alone.save());
  }

  /// Starts so many trials. Each must end as it would alone. All have trained an epoch before one may end.
  void expect_trained(WorkerExecutor& executor, std::uint32_t trials) {
    for (std::uint32_t id = 1; id <= trials; ++id) ASSERT_TRUE(executor.start(job(id)));
    expect_ended(executor, trials);
  }

  /// Checks trials that were started.
  void expect_ended(WorkerExecutor& executor, std::uint32_t trials) {
    const auto step_ops = autodiff::training_ops(ops_.table());
    for (std::uint32_t id = 1; id <= trials; ++id) executor.command(engine::Allow{TrialId{id}, 1});
    for (std::uint32_t begun = 0; begun < trials;) {
      const auto report = executor.next(20);
      ASSERT_TRUE(report);
      begun += std::holds_alternative<engine::EpochReport>(*report) ? 1 : 0;
    }
    for (std::uint32_t id = 1; id <= trials; ++id) {
      executor.command(engine::Allow{TrialId{id}, kEpochs});
      executor.command(engine::Finish{TrialId{id}, false});
    }
    std::size_t finished = 0;
    for (const auto& report : drain(executor, trials)) {
      const auto* failure = std::get_if<engine::FailureReport>(&report);
      EXPECT_EQ(failure, nullptr) << failure->reason;
      const auto* done = std::get_if<engine::FinishedReport>(&report);
      if (done == nullptr) continue;
      ++finished;
      EXPECT_EQ(done->state_hash, trained_alone(done->trial.value, step_ops)) << done->trial.value;
    }
    EXPECT_EQ(finished, trials);
  }

  static engine::WorkerConfig one_lane(std::int64_t workers) {
    engine::WorkerConfig worker_config;
    worker_config.workers = workers;
    worker_config.lanes = 1;
    worker_config.crash_marks = false;
    worker_config.checkpoint_every = 1e9;
    return worker_config;
  }

  /// All reports until `wanted` trials have finished or failed, or the executor has paused.
  static std::vector<engine::Report> drain(WorkerExecutor& executor, std::size_t wanted) {
    std::vector<engine::Report> out;
    std::size_t ended = 0;
    while (ended < wanted) {
      auto report = executor.next(20);
      if (!report) {
        ADD_FAILURE() << "no report within 20 seconds";
        break;
      }
      if (std::holds_alternative<engine::FinishedReport>(*report) ||
          std::holds_alternative<engine::FailureReport>(*report))
        ++ended;
      const bool paused = std::holds_alternative<engine::AllPausedReport>(*report);
      out.push_back(*std::move(report));
      if (paused) break;
    }
    return out;
  }

  std::string folder_;
  RealClock clock_;
  data::Dataset data_;
  program::Operators ops_;
};

}  // namespace lanista::runtime
