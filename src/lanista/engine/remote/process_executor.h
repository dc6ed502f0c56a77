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

/// How worker processes are begun and watched.
struct ProcessOptions {
  LaunchWorker launch = {};   ///< a function that begins one that runs run_worker
  std::vector<Launcher> remote_launchers = {};  ///< as FleetOptions has them
  MakeFleet fleet = {};                  ///< absent: processes
  double lease_seconds = 10;  ///< a worker that is silent for so long has lost its trials
  std::shared_ptr<const TimingHistory> known = {};  ///< what widths begin with, where they are to be found out
  std::string socket = {};    ///< where they knock; empty: control/workers.sock of the study
  ReportRules rules = {};     ///< what is known of the study's measurements before they arrive
  const std::atomic<int>* pause = nullptr;  ///< as Services::pause: a measurement of a model does not outlast it for long
};

/// Trains jobs in worker processes of this machine, one thread each: whatever a trial does to its process, the engine
/// and the other trials go on, and not a bit of a result is another.
///
/// Trials are lent to workers. A worker that dies, or says nothing for a lease, has lost them: each goes on from its
/// last checkpoint, in the process that takes its place; what the engine has heard is not told again, and what the lost
/// one may still say is void. See Leases for trials that cost workers their life again and again: they fail. Workers
/// are begun again, ever more slowly where they end before they can work, and end with this object, or when the
/// process of the engine does. States travel through the study's checkpoint store. The form of states, orders and
/// reports is that of a study with threads, and so is the plan: lanes of a group share the steps of their worker.
class ProcessExecutor final : public Executor {
 public:
  /// With the first job, brief.workers processes will begin, each with its share of brief.memory_bytes. `fs` must be the
  /// real disk; it and `clock` outlive the executor. Errors: kInvalidArgument (no workers).
  static Result<std::unique_ptr<ProcessExecutor>> create(const WorkerConfig& worker_config, FileSystem& fs, const Clock& clock,
                                                         const ProcessOptions& options);
  ~ProcessExecutor() override;

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

  pid_t process(std::size_t worker) const;  ///< 0: none at present

 private:
  struct Impl;
  explicit ProcessExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::engine
