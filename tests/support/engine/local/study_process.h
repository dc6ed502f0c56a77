#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lanista/base/log_sink.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/studyfile/study_file.h"

// For tests of the whole product below the command line.
namespace lanista::runtime::testing {

inline constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 2, slots: 2}
stop: {rule: asha, rungs: [1]}
keep: {top: 1, checkpoint_every: 0s}
)yaml";

/// One process that really trains a small study, with checkpoints at every step. The disk belongs to the test.
class StudyProcess {
 public:
  struct Settings {
    std::string folder;
    std::int64_t trials = 4;
    std::int64_t workers = 2;
    LogSink* sink = nullptr;
    std::string study = kStudy;  ///< Text of the study file.
    std::int64_t lanes = 0;      ///< Most lanes of a worker; 0: chosen by time.
  };

  StudyProcess(FileSystem& fs, const Settings& settings)
      : fs_(fs),
        settings_(settings),
        config_(*studyfile::read_study(settings.study, "small")),
        data_(*data::open(config_.data, ".", real_file_system(), config_.strategy.repeat)) {
    LANISTA_CHECK(engine::resolve_from_data(config_, data_.spec()).ok(), "the test's own study file");
    config_.budget.trials = settings.trials;
    engine::WorkerConfig worker_config;
    worker_config.study_folder = settings.folder;
    worker_config.workers = settings.workers;
    worker_config.lanes = settings.lanes;
    worker_config.metrics = config_.train.measured.metrics;
    worker_config.checkpoint_every = config_.keep.checkpoint_every;
    worker_config.crash_marks = false;
    executor_ = *WorkerExecutor::create(worker_config, data_, program::Operators(), fs_, clock_);
  }

  Result<engine::RunResult> run() {
    LANISTA_ASSIGN(const auto engine, engine::Engine::create(settings_.folder, config_, studyfile::write_study(config_),
                                                             numerics(kernels::best_isa()), services()));
    return engine->run();
  }
  Result<engine::RunResult> resume() {
    LANISTA_ASSIGN(const auto engine,
                   engine::Engine::resume(settings_.folder, {}, numerics(kernels::best_isa()), services()));
    return engine->run();
  }

  const study::StudyConfig& config() const { return config_; }
  const data::DataSpec& data() const { return data_.spec(); }
  plan::Machine machine() const { return executor_->machine(); }

 private:
  engine::Services services() {
    return {.fs = &fs_,
            .clock = &clock_,
            .sink = settings_.sink,
            .executor = executor_.get(),
            .data = &data_.spec(),
            .pause = nullptr,
            .observer = {},
            .machine = executor_->machine()};
  }

  FileSystem& fs_;
  Settings settings_;
  RealClock clock_;
  study::StudyConfig config_;
  data::Dataset data_;
  std::unique_ptr<WorkerExecutor> executor_;
};

}  // namespace lanista::runtime::testing
