#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lanista/base/rng.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "support/engine/core/fake_executor.h"

// Random studies, and one process that runs one.
namespace lanista::interruptions {

constexpr double kGuardMinutes = 2e5;  ///< time limit of each study, in minutes

/// A clock that advances by `tick` seconds with each call of now(). Thread-safe.
class TickingClock final : public Clock {
 public:
  /// Starts at 0 seconds.
  explicit TickingClock(double tick) : tick_(tick) {}
  double unix_time() const override { return now(); }
  double now() const override { return offset_seconds_ + tick_ * static_cast<double>(++num_reads_); }
  /// Moves the clock past the time limit of the study.
  void advance_past_guard() { offset_seconds_ = offset_seconds_ + 4 * kGuardMinutes * 60; }

 private:
  double tick_;
  std::atomic<double> offset_seconds_ = 0;
  mutable std::atomic<std::int64_t> num_reads_ = 0;
};

/// One study with its data, without its disk.
struct Study {
  study::StudyConfig config;     ///< settings
  data::Dataset data;            ///< synthetic rows
  program::Operators operators;  ///< the builtin operators
  engine::FakeOptions fake;      ///< failures of simulated trials
  bool real = false;             ///< true: trials are trained; false: they are simulated
};

/// Kind of a random study.
struct StudyKind {
  bool real = false;       ///< true: trials are trained; false: they are simulated
  bool promotion = false;  ///< true: trials pause at rungs
};

/// Returns a random study.
Study random_study(Rng& rng, StudyKind kind);

/// Settings of one process, which must not change the result.
struct ProcessSettings {
  std::uint64_t seed = 0;              ///< seed of the order of reports of simulated trials
  std::int64_t workers = 1;            ///< number of workers
  std::int64_t checkpoint_one_in = 0;  ///< simulated trials write each n-th checkpoint; 0: none
  double tick = 0.3;                   ///< seconds by which the clock advances at each call
};

/// One process that runs a study: clock, executor and engine.
class StudyProcess {
 public:
  /// Makes clock and executor; `fs` is the disk.
  StudyProcess(const Study& study, FileSystem& fs, const ProcessSettings& settings);

  /// Creates the study on the disk.
  Result<void> create();
  /// Opens the study on the disk to resume it, with an extension of its budget.
  Result<void> resume(const engine::Engine::Extension& extension);
  /// Runs the study to its end or pause. Call create() or resume() first.
  Result<engine::RunResult> run() { return engine_->run(); }
  /// Returns the engine. Call create() or resume() first.
  engine::StudyEngine& engine() { return static_cast<engine::StudyEngine&>(*engine_); }
  /// Returns the clock of the process.
  TickingClock& clock() { return clock_; }

  std::atomic<int> pause = 0;  ///< signal that pauses the study; 0: none
  engine::Observer observer;   ///< callbacks; set them before create() or resume()

 private:
  engine::Services services();

  const Study& study_;
  std::int64_t workers_;
  FileSystem& fs_;
  TickingClock clock_;
  nlohmann::json numerics_ = {{"class", "crossing"}, {"threads", 1}};
  std::unique_ptr<engine::Executor> executor_, wait_limit_executor_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace lanista::interruptions
