#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/log.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/core/custom_strategy_study.h"

namespace lanista::runtime::testing {

/// One process that trains a study.
struct ProcessRun {
  std::int64_t workers = 1, lanes = 0;
  int events = 0;  ///< Events after which a pause is requested; 0: never.
  std::function<void()> on_event = {};
};
inline Result<engine::RunResult> run_process(MemoryFileSystem& disk, const engine::testing::CustomStudy& study,
                                             const data::Dataset& data, const Clock& clock,
                                             const ProcessRun& process_run) {
  engine::WorkerConfig worker_config;
  worker_config.study_folder = engine::testing::kFolder;
  worker_config.workers = process_run.workers;
  worker_config.lanes = process_run.lanes;
  worker_config.crash_marks = false;
  worker_config.checkpoint_every = 0;
  const auto executor = *WorkerExecutor::create(worker_config, data, program::Operators(), disk, clock);
  std::atomic<int> pause = 0;
  engine::Observer observer;
  observer.on_event = [&, seen = 0](const auto&, const auto&) mutable {
    if (++seen == process_run.events) pause = 15;
    if (process_run.on_event) process_run.on_event();
  };
  return study.run_study({.fs = &disk,
                          .clock = &clock,
                          .executor = executor.get(),
                          .data = &data.spec(),
                          .pause = &pause,
                          .observer = observer,
                          .machine = executor->machine()});
}

inline std::string canonical(MemoryFileSystem& disk) {
  return store::canonical_export(*store::read_log(disk, engine::testing::kFolder));
}

/// Three blobs in four dimensions, 96 rows.
inline data::Dataset blobs() {
  study::DataConfig config;
  config.source = "synthetic:blobs?rows=96&classes=3&features=4&seed=1";
  return *data::open(config, ".", real_file_system());
}

using engine::testing::as_configured;

/// Studies of blobs.
class BlobStudy : public ::testing::Test {
 protected:
  study::StudyConfig configured(const char* text, std::uint64_t seed) const {
    study::StudyConfig config = *studyfile::read_study(text, "blobs");
    LANISTA_CHECK(engine::resolve_from_data(config, data.spec()).ok(), "the test's own study file");
    config.run.seed = seed;
    return config;
  }
  /// Runs an interrupted study to its end.
  engine::StudyView run_to_end(MemoryFileSystem& disk, const engine::testing::CustomStudy& study, std::int64_t workers,
                               std::int64_t lanes, const std::function<void()>& on_event = {}) {
    const auto end = run_process(disk, study, data, clock, {workers, lanes, 0, on_event});
    EXPECT_TRUE(end.ok()) << end.error().text();
    return *engine::fold(*store::read_log(disk, engine::testing::kFolder));
  }

  data::Dataset data = blobs();
  RealClock clock;
};

}  // namespace lanista::runtime::testing
