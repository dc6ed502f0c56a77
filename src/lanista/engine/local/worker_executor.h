#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/study/metric.h"

namespace lanista::runtime {

class StudyMarks;

/// What no brief can say, because it belongs to a process.
struct WorkerOptions {
  const nn::Backend* backend = nullptr;         ///< outlives the executor; null: the CPU at the brief's level
  std::vector<study::Metric> own_metrics = {};  ///< of the caller, which the brief may name beside ours
  /// Of prepared epochs that trials share, at most; with folds those of each training. 0: each prepares its own batches.
  std::int64_t shared_epoch_bytes = std::int64_t{512} << 20;
  std::function<void()> before_thread = {};     ///< for tests: before a worker starts; may throw as std::thread does
  /// Told by a worker's thread before it computes steps of these trials.
  std::function<void(std::span<const TrialId>)> on_training = {};
  // Of a study that several executors of this process train, one a device.
  std::function<void()> on_ready = {};         ///< told by any thread, whenever next() has something
  std::shared_ptr<StudyMarks> marks = {};  ///< of all of them; null: its own, if the brief wants any
  std::size_t first_worker = 0;            ///< among theirs
};

/// Trains jobs on worker threads of this process, one intra-op thread each.
///
/// A free worker takes the trial whose next epoch comes first in logical time, with others of its group in the plan,
/// and trains them for one epoch; then their lanes are free for whoever comes next. So workers stay busy while
/// trials wait for verdicts, and nothing depends on the number of workers or lanes. The trial wall is here: whatever a
/// trial throws becomes its own FailureReport. Out of memory, idle trials are parked in the checkpoint store and the
/// culprit is tried once more, alone, before it fails. Where the system gives fewer threads than wanted, those it gave
/// do the work; without any, the first start() reports kResourceExhausted.
class WorkerExecutor final : public engine::Executor {
 public:
  /// Starts the workers; writes nothing until the first start(). `data` are those of the brief's source. All arguments
  /// but brief, operators and options outlive the executor. Errors: kFailedPrecondition (the brief is of other data, of
  /// another numeric class, or of a level that this CPU lacks).
  static Result<std::unique_ptr<WorkerExecutor>> create(const engine::WorkerConfig& worker_config, const data::Dataset& data,
                                                        const nn::Operators& operators, FileSystem& fs,
                                                        const Clock& clock, const WorkerOptions& options = {});
  ~WorkerExecutor() override;

  Result<void> start(const engine::Job& job) override;
  void command(const engine::Command& command) override;
  std::optional<engine::Report> next(double seconds) override;
  /// Predictions of members of a blend are kept for the next blend that is measured on the same part.
  Result<std::map<std::string, double>> measure(std::span<const engine::EvaluatedMember> members, data::Part part) override;

  std::int64_t workers() const;
  schedule::Machine machine() const;  ///< as machine_of, with the workers that there are

 private:
  struct Impl;
  explicit WorkerExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What an executor with this brief trains on.
schedule::Machine machine_of(const engine::WorkerConfig& worker_config);

/// What the bits of a study depend on: ISA level, numeric class, compiler, threads. Recorded in the log.
nlohmann::json numerics(kernels::Isa isa);
/// The same of a study that another backend trains: its class, and its name.
nlohmann::json numerics(const nn::Backend& backend);

}  // namespace lanista::runtime
