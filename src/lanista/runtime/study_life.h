#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "lanista/base/memory_file_system.h"
#include "lanista/data/dataset.h"
#include "lanista/engine/custom_study.h"
#include "lanista/runtime/worker_executor.h"

namespace lanista::runtime::testing {

/// One life of a process that trains a study.
struct Life {
  std::int64_t workers = 1, lanes = 0;
  int events = 0;  ///< behind so many a pause is asked for; 0: never
  std::function<void()> on_event = {};
};
inline Result<engine::Summary> live(MemoryFileSystem& disk, const engine::testing::Custom& study,
                                    const data::Dataset& data, const Clock& clock, const Life& life) {
  engine::WorkerBrief brief;
  brief.study_folder = engine::testing::kFolder;
  brief.workers = life.workers;
  brief.lanes = life.lanes;
  brief.crash_marks = false;
  brief.checkpoint_every = 0;
  const auto executor = *WorkerExecutor::create(brief, data, nn::Operators(), disk, clock);
  std::atomic<int> pause = 0;
  engine::Observer observer;
  observer.on_event = [&, seen = 0](const auto&, const auto&) mutable {
    if (++seen == life.events) pause = 15;
    if (life.on_event) life.on_event();
  };
  return study.go_on({.fs = &disk,
                      .clock = &clock,
                      .executor = executor.get(),
                      .data = &data.spec(),
                      .pause = &pause,
                      .observer = observer,
                      .machine = executor->machine()});
}

}  // namespace lanista::runtime::testing
