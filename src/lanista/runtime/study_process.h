#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lanista/base/log_sink.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/fit.h"
#include "lanista/engine/study_file.h"
#include "lanista/runtime/worker_executor.h"

// For tests of the whole product below the command line.
namespace lanista::runtime::testing {

/// Everything of a small study that is really trained, with checkpoints at every step, but its disk: the life of one
/// process.
class StudyProcess {
 public:
  struct Settings {
    std::string folder;
    std::int64_t trials = 4;
    std::int64_t workers = 2;
    LogSink* sink = nullptr;
  };

  StudyProcess(FileSystem& fs, const Settings& settings)
      : fs_(fs),
        settings_(settings),
        config_(*engine::read_study(kStudy, "small")),
        data_(*data::open(config_.data, ".", real_file_system())) {
    LANISTA_CHECK(engine::fit_to_data(config_, data_.spec()).ok(), "the test's own study file");
    config_.budget.trials = settings.trials;
    WorkerOptions options;
    options.workers = settings.workers;
    options.checkpoint_every = config_.keep.checkpoint_every;
    options.crash_marks = false;
    executor_ = WorkerExecutor::create(options, data_, nn::Operators(), fs_, clock_, settings.folder);
  }

  Result<engine::Summary> run() {
    LANISTA_ASSIGN(const auto engine, engine::Engine::create(settings_.folder, config_, engine::write_study(config_),
                                                             numerics(kernels::best_isa()), services()));
    return engine->run();
  }
  Result<engine::Summary> resume() {
    LANISTA_ASSIGN(const auto engine,
                   engine::Engine::resume(settings_.folder, {}, numerics(kernels::best_isa()), services()));
    return engine->run();
  }

 private:
  static constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 2, slots: 2}
stop: {rule: asha, rungs: [1]}
keep: {top: 1, checkpoint_every: 0s}
)yaml";

  engine::Services services() {
    return {.fs = &fs_,
            .clock = &clock_,
            .sink = settings_.sink,
            .executor = executor_.get(),
            .data = &data_.spec(),
            .pause = nullptr,
            .observer = {}};
  }

  FileSystem& fs_;
  Settings settings_;
  RealClock clock_;
  study::StudyConfig config_;
  data::Dataset data_;
  std::unique_ptr<WorkerExecutor> executor_;
};

}  // namespace lanista::runtime::testing
