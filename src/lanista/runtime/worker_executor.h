#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/memory_budget.h"
#include "lanista/data/dataset.h"
#include "lanista/engine/executor.h"
#include "lanista/kernels/kernels.h"
#include "lanista/nn/opaque.h"

namespace lanista::runtime {

struct WorkerOptions {
  std::int64_t workers = 0;          ///< 0: one per core
  std::int64_t lanes = 0;            ///< trials that a worker trains together, at most; 0: lanes_that_pay
  std::vector<std::string> metrics;  ///< as in the study file
  std::int64_t memory_bytes = 0;     ///< of all programs; 0: three quarters of the machine's memory
  double checkpoint_every = 30;      ///< seconds
  kernels::Isa isa = kernels::best_isa();
  bool crash_marks = true;                   ///< needs a study folder on the real disk
  std::function<void()> before_thread = {};  ///< for tests: before a worker starts; may throw as std::thread does
};

/// Trains jobs on worker threads of this process, one intra-op thread each.
///
/// A free worker takes the trial whose next epoch comes first in logical time, with others that can be lanes of its
/// program, and trains them for one epoch; then their lanes are free for whoever comes next. So workers stay busy while
/// trials wait for verdicts, and nothing depends on the number of workers or lanes. The trial wall is here: whatever a
/// trial throws becomes its own FailureReport. Out of memory, idle trials are parked in the checkpoint store and the
/// culprit is tried once more, alone, before it fails. Where the system gives fewer threads than wanted, those it gave
/// do the work; without any, the first start() reports kResourceExhausted.
class WorkerExecutor final : public engine::Executor {
 public:
  /// Starts the workers; writes nothing until the first start(). All arguments but options and operators outlive the
  /// executor.
  static std::unique_ptr<WorkerExecutor> create(const WorkerOptions& options, const data::Dataset& data,
                                                const nn::Operators& operators, FileSystem& fs, const Clock& clock,
                                                const std::string& study_folder);
  ~WorkerExecutor() override;

  Result<void> start(const engine::Job& job) override;
  void command(const engine::Command& command) override;
  std::optional<engine::Report> next(double seconds) override;
  Result<std::map<std::string, double>> test(const engine::Job& job, const std::string& weights) override;

  std::int64_t workers() const;

 private:
  struct Impl;
  explicit WorkerExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What the bits of a study depend on: ISA level, numeric class, compiler, threads. Recorded in the log.
nlohmann::json numerics(kernels::Isa isa);

}  // namespace lanista::runtime
