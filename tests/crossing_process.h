#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lanista/base/rng.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/fake_executor.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/exec/program/opaque.h"

// Studies that nobody chose, and one process at work on one.
namespace lanista::crossing {

constexpr double kGuardMinutes = 2e5;

/// Every look at it takes `tick` seconds; thread-safe.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(double tick) : tick_(tick) {}
  double unix_time() const override { return now(); }
  double now() const override { return jumped_ + tick_ * static_cast<double>(++looks_); }
  void jump_over_the_guard() { jumped_ = jumped_ + 4 * kGuardMinutes * 60; }

 private:
  double tick_;
  std::atomic<double> jumped_ = 0;
  mutable std::atomic<std::int64_t> looks_ = 0;
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
Study drawn_study(Rng& rng, StudyKind kind);

/// How one process works.
struct Pace {
  std::uint64_t seed = 0;
  std::int64_t workers = 1, checkpoint_one_in = 0;
  double tick = 0.3;
};

/// One process's worth of everything.
class Process {
 public:
  Process(const Study& study, FileSystem& fs, const Pace& pace);

  Result<void> create();
  Result<void> resume(const engine::Engine::Extension& extension);
  Result<engine::Summary> run() { return engine_->run(); }
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
  std::unique_ptr<engine::Executor> executor_, impatient_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace lanista::crossing
