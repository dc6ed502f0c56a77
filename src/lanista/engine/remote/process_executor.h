#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/engine/remote/report_check.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "lanista/ipc/worker_process.h"

namespace lanista::engine {

/// How worker processes are started and watched.
struct ProcessOptions {
  LaunchWorker launch = {};                     ///< Starts a local process, which must call run_worker.
  std::vector<Launcher> remote_launchers = {};  ///< Ways to start workers on other hosts; empty: all are local.
  MakeFleet fleet = {};                         ///< Makes the fleet, for tests; empty: a WorkerFleet.
  double lease_seconds = 10;                    ///< Seconds without a message after which a worker loses its trials.
  /// Step times of earlier studies, for the first widths with `run.width: auto`; null: none.
  std::shared_ptr<const TimingHistory> known = {};
  std::string socket = {};  ///< Path of the workers' socket; empty: control/workers.sock of the study.
  ReportRules rules = {};   ///< What every measurement of the study must have.
  /// Non-zero: a pause is requested, as Services::pause. A call of measure() then ends with kUnavailable within about
  /// two leases. Null: never.
  const std::atomic<int>* pause = nullptr;
};

/// Trains jobs in worker processes, one thread each. If a trial crashes its process, the engine and the other trials
/// continue, and no bit of their results changes.
///
/// Trials are lent to workers (Leases). A worker that dies, or is silent for a lease, loses its trials: each resumes
/// from its last checkpoint in another process. Epochs that the engine has received are not reported again, and late
/// messages of the lost worker are ignored. A trial that crashes its worker repeatedly fails.
///
/// Lost workers are started again, with growing delays if they end before they are ready. All workers end with this
/// object or with the engine's process. States pass through the study's checkpoint store. States, messages and plans
/// have the same form as with threads, so lanes of a group share the steps of their worker. If no worker can run,
/// next() returns an ExecutorErrorReport. One thread calls it.
class ProcessExecutor final : public Executor {
 public:
  /// Makes an executor. The first job starts `worker_config.workers` processes, each with its share of `memory_bytes`.
  /// The workers leave no crash marks, and their further pipeline ranks are processes. `fs` is the real disk; `fs` and
  /// `clock` outlive the executor. Errors: kInvalidArgument (less than 1 worker; 0 is no default here).
  static Result<std::unique_ptr<ProcessExecutor>> create(const WorkerConfig& worker_config, FileSystem& fs,
                                                         const Clock& clock, const ProcessOptions& options);
  ~ProcessExecutor() override;

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

  /// Process id of the worker with this index; 0: it has no process now.
  pid_t process(std::size_t worker) const;

 private:
  struct Impl;
  explicit ProcessExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::engine
