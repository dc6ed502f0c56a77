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
#include "lanista/plan/grouping/planner.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// The parts of a ProcessExecutor. What goes to workers is in process_executor.cpp; what arrives from them, and the
/// questions that they answer, in process_arrivals.cpp.
struct ProcessExecutor::Impl {
  const Clock& clock;
  FileSystem& fs;
  store::CheckpointStore files;
  const FleetOptions fleet_options;
  std::unique_ptr<Fleet> fleet;  // from the first job on: a refused study leaves nothing behind
  Leases leases;
  ReportCheck check;
  schedule::Grouping plan;
  std::deque<Report> reports;
  std::optional<Error> broken;
  bool is_pausing = false, has_paused = false;
  double pause_deadline_seconds = 0;                  // clock seconds: a worker that has not answered a pause by then is lost
  std::set<std::size_t> pausing_workers;            // workers that were told to pause and have not said that they did
  std::set<std::size_t> dropped_workers;         // workers that are dropped, until the news of that arrive
  std::optional<std::size_t> measuring_worker;  // the worker that has a question to answer
  data::Part measured_part = data::Part::kTest;
  std::map<std::size_t, Result<std::map<std::string, double>>> answers;
  std::map<std::size_t, std::string> last_loss_reasons;
  std::map<std::size_t, WorkerReport> last_start_reports;  // of each worker the last time
  const MakeFleet make_fleet;
  const std::atomic<int>* const pause_signal;  // of the study; may be null
  HelperAssignment helping;

  Impl(FileSystem& f, const Clock& c, FleetOptions options, MakeFleet make, const ProcessOptions& process);
  ~Impl();

  bool start_workers();
  bool is_ready(std::size_t worker) const { return fleet && fleet->is_ready(worker); }
  std::vector<bool> ready() const;
  std::vector<bool> excluded_workers() const;
  /// Seconds that a worker has for its answer to a pause.
  double pause_seconds() const;

  // To workers.
  void send_command(std::size_t worker, const Command& command);
  void send(const std::vector<TrialId>& trials);
  void forward_command(TrialId trial, const Command& command);
  void allow(const Allow& allowed);
  void arrange(const UpdateGroups& arranged);
  void finish(const Finish& request);
  void park(const PauseTrial& request);
  void pause();
  void mark_worker_paused(std::size_t worker);
  /// Trials that wait for a worker which is not due any more go to those that are ready.
  void reassign_waiting();
  /// Workers that do not answer a pause are lost, as silent ones are.
  void check_pause_deadline();
  void send_helpers();

  // From workers.
  void handle_event(const Fleet::FleetEvent& event);
  void fail_all(const Error& error);
  void handle_ready(const Fleet::Ready& ready);
  void handle_message(std::size_t worker, const Message& message);
  /// Errors of the following: kDataLoss, what the worker did that no honest worker does.
  Result<void> dispatch_message(std::size_t worker, const Message& message);
  Result<void> handle_report(std::size_t worker, const std::string& text);
  Result<void> handle_paused(std::size_t worker);
  Result<void> handle_lost_stage(std::size_t worker, WorkerReport lost);
  Result<void> handle_refusal(std::size_t worker, const std::string& text);
  Result<void> handle_active_trials(std::size_t worker, const std::string& text);
  Result<void> handle_answer(std::size_t worker, const Message& message);
  Result<void> handle_worker_error(std::size_t worker, const std::string& text);
  void note_progress(std::size_t worker, const Report& report, std::int64_t reported_before, std::int64_t saved_before);
  void mark_lost(const Fleet::Lost& lost);

  // Questions.
  std::optional<std::size_t> idle_worker() const;
  std::optional<std::size_t> wait_for_worker();
  /// True once the study was asked to pause so long ago that nothing is waited for.
  bool has_waited_too_long();
  Result<std::map<std::string, double>> measure(const std::string& question, data::Part part);
  double next_reassign_seconds = 0;  // clock seconds
  std::optional<double> wait_deadline_seconds;  // clock seconds
};

}  // namespace lanista::engine
