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

#include "lanista/engine/remote/helping.h"
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
  const FleetOptions how;
  std::unique_ptr<Fleet> fleet;  // from the first job on: a refused study leaves nothing behind
  Leases leases;
  ReportCheck check;
  schedule::Grouping plan;
  std::deque<Report> reports;
  std::optional<Error> broken;
  bool is_pausing = false, has_paused = false;
  double pause_until = 0;                  // clock seconds: a worker that has not answered a pause by then is lost
  std::set<std::size_t> saving;            // workers that were told to pause and have not said that they did
  std::set<std::size_t> offenders;         // workers that are dropped, until the news of that arrive
  std::optional<std::size_t> question_to;  // the worker that has a question to answer
  data::Part asked_part = data::Part::kTest;
  std::map<std::size_t, Result<std::map<std::string, double>>> answers;
  std::map<std::size_t, std::string> last_losses;
  std::map<std::size_t, WorkerReport> came;  // of each worker the last time
  const MakeFleet make_fleet;
  const std::atomic<int>* const pause_asked;  // of the study; may be null
  Helping helping;

  Impl(FileSystem& f, const Clock& c, FleetOptions options, MakeFleet make, const ProcessOptions& process);
  ~Impl();

  bool begin_workers();
  bool is_ready(std::size_t worker) const { return fleet && fleet->is_ready(worker); }
  std::vector<bool> ready() const;
  std::vector<bool> away() const;
  /// Seconds that a worker has for its answer to a pause.
  double pause_seconds() const;

  // To workers.
  void tell(std::size_t worker, const Command& command);
  void send(const std::vector<TrialId>& trials);
  void pass_on(TrialId trial, const Command& command);
  void allow(const Allow& allowed);
  void arrange(const Arrange& arranged);
  void finish(const Finish& asked_for);
  void park(const Park& asked_for);
  void pause();
  void has_saved(std::size_t worker);
  /// Trials that wait for a worker which is not due any more go to those that are ready.
  void move_waiting();
  /// Workers that do not answer a pause are lost, as silent ones are.
  void watch_pause();
  void send_helpers();

  // From workers.
  void take(const Fleet::News& news);
  void break_down(const Error& error);
  void begin(const Fleet::Ready& ready);
  void hear(std::size_t worker, const Message& message);
  /// Errors of the following: kDataLoss, what the worker did that no honest worker does.
  Result<void> understand(std::size_t worker, const Message& message);
  Result<void> report(std::size_t worker, const std::string& text);
  Result<void> paused(std::size_t worker);
  Result<void> lost_place(std::size_t worker, WorkerReport lost);
  Result<void> refused(std::size_t worker, const std::string& text);
  Result<void> in_hand(std::size_t worker, const std::string& text);
  Result<void> answered(std::size_t worker, const Message& message);
  Result<void> broke(std::size_t worker, const std::string& text);
  void note_progress(std::size_t worker, const Report& report, std::int64_t told_before, std::int64_t saved_before);
  void lose(const Fleet::Lost& lost);

  // Questions.
  std::optional<std::size_t> free_worker() const;
  std::optional<std::size_t> wait_for_worker();
  /// True once the study was asked to pause so long ago that nothing is waited for.
  bool gives_up_waiting();
  Result<std::map<std::string, double>> measure(const std::string& question, data::Part part);
  double move_at = 0;  // clock seconds
  std::optional<double> stop_waiting_at;  // clock seconds
};

}  // namespace lanista::engine
