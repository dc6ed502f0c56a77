#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lanista/base/rng.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "support/engine/core/fake_executor.h"

// Studies that nobody chose, and one process at work on one.
namespace lanista::crossing {

constexpr double kGuardMinutes = 2e5;

/// Every look at it takes `tick` seconds; thread-safe.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(double tick) : tick_(tick) {}
  double unix_time() const override { return now(); }
  double now() const override { return offset_seconds_ + tick_ * static_cast<double>(++num_reads_); }
  void advance_past_guard() { offset_seconds_ = offset_seconds_ + 4 * kGuardMinutes * 60; }

 private:
  double tick_;
  std::atomic<double> offset_seconds_ = 0;
  mutable std::atomic<std::int64_t> num_reads_ = 0;
};

/// One study and what it needs, but for the disk.
struct Study {
  study::StudyConfig config;
  data::Dataset data;
  nn::Operators operators;
  engine::FakeOptions fake;
  bool real = false;
};

struct StudyKind {
  bool real = false;       ///< really trained, not simulated
  bool promotion = false;  ///< trials pause at rungs for certain
};
Study random_study(Rng& rng, StudyKind kind);

/// How one process works.
struct ProcessSettings {
  std::uint64_t seed = 0;
  std::int64_t workers = 1, checkpoint_one_in = 0;
  double tick = 0.3;
};

/// One process's worth of everything.
class StudyProcess {
 public:
  StudyProcess(const Study& study, FileSystem& fs, const ProcessSettings& settings);

  Result<void> create();
  Result<void> resume(const engine::Engine::Extension& extension);
  Result<engine::RunResult> run() { return engine_->run(); }
  engine::StudyEngine& engine() { return static_cast<engine::StudyEngine&>(*engine_); }
  TickingClock& clock() { return clock_; }

  std::atomic<int> pause = 0;
  engine::Observer observer;

 private:
  engine::Services services();

  const Study& study_;
  std::int64_t workers_;
  FileSystem& fs_;
  TickingClock clock_;
  nlohmann::json numerics_ = {{"class", "crossing"}, {"threads", 1}};
  std::unique_ptr<engine::Executor> executor_, impatient_executor_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace lanista::crossing
