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
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/study/metric.h"

namespace lanista::runtime {

class StudyMarks;

/// Options of an executor that belong to its process and so are not in WorkerConfig.
struct WorkerOptions {
  /// Backend of the device, which outlives the executor; null: the CPU backend at the configured level.
  const program::Backend* backend = nullptr;
  std::vector<study::Metric> own_metrics = {};  ///< Metrics that the caller defines and the configuration may name.
  /// Most bytes of prepared epochs that trials share; with folds, for each training. 0: each trial prepares its own
  /// batches.
  std::int64_t shared_epoch_bytes = std::int64_t{512} << 20;
  /// For tests: called before each worker thread starts. It may throw as std::thread does.
  std::function<void()> before_thread = {};
  /// Called by a worker's thread before it computes steps of these trials; empty: not called.
  std::function<void(std::span<const TrialId>)> on_training = {};
  // For a study with several executors in this process, one for each device.
  std::function<void()> on_ready = {};  ///< Called by any thread when next() has a report; must not block.
  /// Crash marks that executors share; null: its own, if the configuration has them.
  std::shared_ptr<StudyMarks> marks = {};
  std::size_t first_worker = 0;  ///< Index of its first worker among the workers of all executors.
};

/// Trains jobs on worker threads of this process. Each worker computes on one thread, except in pipelines.
///
/// A free worker takes the trial with the earliest next epoch in logical time, with others of its lane group, and
/// trains them for one epoch. Then it returns them. So workers stay busy while trials wait for verdicts, and results do
/// not depend on the number of workers or lanes. Every exception of a trial becomes its FailureReport.
///
/// If memory is short, states of idle trials are spilled to the checkpoint store. The trial is then tried once more,
/// alone, before it fails. If the system gives fewer threads than requested, those do the work. Without any thread,
/// start() succeeds, and next() returns an ExecutorErrorReport with kResourceExhausted.
class WorkerExecutor final : public engine::Executor {
 public:
  /// Starts the workers; writes no file before the first start(). `data` is the configured data set. All arguments
  /// except `worker_config`, `operators` and `options` outlive the executor. Errors: kFailedPrecondition (the
  /// configuration has other data, another numeric class, or an instruction level that this CPU lacks).
  static Result<std::unique_ptr<WorkerExecutor>> create(const engine::WorkerConfig& worker_config,
                                                        const data::Dataset& data, const program::Operators& operators,
                                                        FileSystem& fs, const Clock& clock,
                                                        const WorkerOptions& options = {});
  ~WorkerExecutor() override;

  Result<void> start(const engine::Job& job) override;
  void command(const engine::Command& command) override;
  std::optional<engine::Report> next(double seconds) override;
  /// Metrics by name of the (blended) members on a part of the data. Computed on the calling thread. Predictions of the
  /// members of a blend are cached for later blends on the same part. If memory is short, all training pauses
  /// meanwhile.
  Result<std::map<std::string, double>> measure(std::span<const engine::EvaluatedMember> members,
                                                data::Part part) override;

  /// Number of worker threads that were started.
  std::int64_t workers() const;
  /// The machine that it trains on: machine_of(), with the number of started workers.
  plan::Machine machine() const;

 private:
  struct Impl;
  explicit WorkerExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The workers, lanes and bytes of memory that an executor with this configuration uses. 0 workers become one for each
/// core (at most 64, divided by the pipeline ranks), 0 bytes three quarters of the memory. Lanes are at most 64; 0
/// stays.
plan::Machine machine_of(const engine::WorkerConfig& worker_config);

/// The body of a `numerics` log record for the CPU backend: a JSON object with `class` (numeric class), `isa`
/// (instruction level), `compiler`, `threads` and `flush_to_zero`. These facts determine the bits of a study.
nlohmann::json numerics(kernels::Isa isa);
/// The body of a `numerics` log record for another backend: its numeric class as `class` and its name as `device`, with
/// `isa` (the best level of this CPU), `compiler`, `threads` and `flush_to_zero`.
nlohmann::json numerics(const program::Backend& backend);

}  // namespace lanista::runtime
