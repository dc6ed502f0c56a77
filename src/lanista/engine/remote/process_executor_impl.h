#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanista/engine/remote/helper_assignment.h"
#include "lanista/engine/remote/leases.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/engine/remote/report_check.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/plan/grouping/planner.h"

namespace lanista::engine {

/// Parts of a ProcessExecutor. process_executor.cpp has the messages to workers. process_events.cpp has the messages
/// from workers, and the requests that they answer.
struct ProcessExecutor::Impl {
  const Clock& clock;                           ///< Clock of deadlines.
  FileSystem& fs;                               ///< The real disk.
  store::CheckpointStore files;                 ///< Checkpoint store of the study.
  const FleetOptions fleet_options;             ///< How workers are started.
  std::unique_ptr<Fleet> fleet;                 ///< Made with the first job, so that a refused study leaves no files.
  Leases leases;                                ///< Trials by worker.
  ReportCheck check;                            ///< Checks every report before it is used.
  plan::Grouping plan;                          ///< Current lane groups.
  std::deque<Report> reports;                   ///< Reports for next().
  std::optional<Error> broken;                  ///< Error after which no worker can run; absent: none.
  bool is_pausing = false, has_paused = false;  ///< True: PauseAll was received; true: AllPausedReport was queued.
  double pause_deadline_seconds = 0;  ///< Clock seconds after which a worker without an answer to the pause is lost.
  std::set<std::size_t> pausing_workers;  ///< Indices of workers that have not answered the pause.
  std::set<std::size_t> dropped_workers;  ///< Indices of workers that were dropped, until their loss is handled.
  /// Index of the worker that computes the current measurement; absent: none.
  std::optional<std::size_t> measuring_worker;
  data::Part measured_part = data::Part::kTest;  ///< Part of that measurement.
  /// Results of measurements that have arrived, by worker.
  std::map<std::size_t, Result<std::map<std::string, double>>> answers;
  std::map<std::size_t, std::string> last_loss_reasons;    ///< Reason of the last loss of each worker.
  std::map<std::size_t, WorkerReport> last_start_reports;  ///< Report of the last start of each worker.
  const MakeFleet make_fleet;                              ///< Starts the workers.
  const std::atomic<int>* const pause_signal;              ///< Pause flag of the study; may be null.
  HelperAssignment helping;                                ///< Decides which workers help which trials.

  /// Stores the options of ProcessExecutor::create. Starts nothing; start_workers() does, with `make`.
  Impl(FileSystem& f, const Clock& c, FleetOptions options, MakeFleet make, const ProcessOptions& process);
  ~Impl();

  /// Starts the workers at the first call. Returns true if they can run.
  bool start_workers();
  /// True if the worker can receive jobs.
  bool is_ready(std::size_t worker) const { return fleet && fleet->is_ready(worker); }
  /// For each worker, true if it can receive jobs.
  std::vector<bool> ready() const;
  /// For each worker, true if no trial is granted to it now.
  std::vector<bool> excluded_workers() const;
  /// Seconds that a worker has for its answer to a pause.
  double pause_seconds() const;

  // Messages to workers.

  /// Sends a command to a worker.
  void send_command(std::size_t worker, const Command& command);
  /// Sends the leases of these trials to their workers, as far as those are ready. Other workers receive theirs when
  /// they become ready (handle_ready()).
  void send(const std::vector<TrialId>& trials);
  /// Sends a command to the worker that has the trial; without one it has no effect.
  void forward_command(TrialId trial, const Command& command);
  /// Stores the last epoch that a trial may train in its lease and sends it to the worker of the trial.
  void allow(const Allow& allowed);
  /// Applies changed lane groups to `plan` and stores allowances in leases. Sends every worker all changes, with the
  /// allowances of its own trials.
  void arrange(const UpdateGroups& arranged);
  /// Sends the request to end a trial to its worker. The lease stays until the worker reports the end; if the trial is
  /// abandoned, it is removed at once.
  void finish(const Finish& request);
  /// Marks the lease of a trial as pausing, and sends the request to its worker.
  void pause_trial(const PauseTrial& request);
  /// Sends a pause to all workers and sets the deadline of their answers.
  void pause();
  /// Notes that a worker has paused. After the last one, AllPausedReport is queued.
  void mark_worker_paused(std::size_t worker);
  /// Moves trials that wait for a worker without a ready process to workers that are ready.
  void reassign_waiting();
  /// After the deadline of a pause, ends the workers that did not answer it (Fleet::mark_lost). Their trials then
  /// continue from their checkpoints as after any loss. Does nothing before the deadline or without a pause.
  void check_pause_deadline();
  /// Sends changed helper assignments to ready workers.
  void send_helpers();

  // Messages from workers.

  /// Handles an event of the fleet: a worker is ready, has sent a message or is lost, or no worker can run.
  void handle_event(const Fleet::FleetEvent& event);
  /// Ends all work: next() returns this error from now on.
  void fail_all(const Error& error);
  /// Reports the start of a worker, gives it leases of other workers, and sends all leases that were not sent.
  void handle_ready(const Fleet::Ready& ready);
  /// Handles a message, and drops a worker that sent an invalid one.
  void handle_message(std::size_t worker, const Message& message);
  /// Calls the handler for the kind of a message. Errors of all handlers: kDataLoss, with what was invalid.
  Result<void> dispatch_message(std::size_t worker, const Message& message);
  /// Checks a report of a trial and queues it for the engine. A stale or repeated report has no effect. Errors:
  /// kDataLoss.
  Result<void> handle_report(std::size_t worker, const std::string& text);
  /// Notes that a worker has paused. Errors: kDataLoss (no pause was requested).
  Result<void> handle_paused(std::size_t worker);
  /// Reports that a worker lost one of its own pipeline processes and continues. Errors: kDataLoss.
  Result<void> handle_lost_stage(std::size_t worker, WorkerReport lost);
  /// Reads that a worker cannot start a trial, and why. The trial is sent again from an older checkpoint if there is
  /// one; else its failure is queued for the engine. Errors: kDataLoss.
  Result<void> handle_refusal(std::size_t worker, const std::string& text);
  /// Stores which trials are in the steps that a worker computes now. Errors: kDataLoss.
  Result<void> handle_active_trials(std::size_t worker, const std::string& text);
  /// Stores metrics, or an error, in `answers` for measure(). Errors: kDataLoss (malformed, or not requested).
  Result<void> handle_answer(std::size_t worker, const Message& message);
  /// Handles an error of the worker itself. If it ran out of memory, the worker counts as lost; any other error ends
  /// all work. Errors: kDataLoss.
  Result<void> handle_worker_error(std::size_t worker, const std::string& text);
  /// Notes in the fleet that a worker has made progress, if the report has a new epoch, a later checkpoint, an end or a
  /// pause. The last two arguments are the epochs and the saved step before the report.
  void note_progress(std::size_t worker, const Report& report, std::int64_t reported_before, std::int64_t saved_before);
  /// Handles the loss of a worker: reports it and the trials that fail by it. Its other trials wait for its
  /// replacement, or move to other workers if there is none.
  void mark_lost(const Fleet::Lost& lost);

  // Measurements.

  /// The ready worker with the fewest trials; nullopt: no worker is ready.
  std::optional<std::size_t> idle_worker() const;
  /// Waits for a ready worker; nullopt: there will be none in time.
  std::optional<std::size_t> wait_for_worker();
  /// True if the study's pause flag was set pause_seconds() ago or earlier, so that measure() gives up its wait for a
  /// worker. The first call that finds the flag set starts the time.
  bool has_waited_too_long();
  /// Sends a measurement request to a worker and waits for its answer. Errors: the worker's error, kUnavailable (a
  /// pause, or no worker).
  Result<std::map<std::string, double>> measure(const std::string& question, data::Part part);
  double next_reassign_seconds = 0;  ///< Clock seconds of the next call of reassign_waiting().
  /// Clock seconds at which measure() gives up; absent: no pause was requested.
  std::optional<double> wait_deadline_seconds;
};

}  // namespace lanista::engine
