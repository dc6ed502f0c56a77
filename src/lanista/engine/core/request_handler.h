#pragma once

#include <optional>
#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/control_requests.h"
#include "lanista/engine/core/slot_filler.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/trial_ender.h"

namespace lanista::engine {

/// Applies requests of the user between two events, and does periodic work. Every 0.25 s it reads requests, checks the
/// guard and calls Observer::on_idle. Every second it syncs the log and removes unreferenced checkpoint files, and
/// every 10 s it records the working time. Not thread-safe.
class RequestHandler {
 public:
  /// Requests end trials of `active` through `ender` and free slots of `slots`. All arguments outlive this.
  RequestHandler(StudyContext& study, const ActiveTrials& active, TrialEnder& ender, SlotFiller& slots)
      : study_(study), active_(active), ender_(ender), slots_(slots) {}

  /// Records the begin of an attempt. Removes pause requests from `control/`, which are void because the study was not
  /// running. Errors: those of the log and of the file system.
  Result<void> begin_attempt();
  /// Reads requests and does periodic work. Returns true if a request or the guard was applied; the caller then polls
  /// again before the next event. Within 0.25 s of the last poll it only reads Services::pause and returns false.
  /// Errors: those of the log, of the file system and of the started trials.
  Result<bool> poll();
  /// Stores an extension, which the next poll() applies as a request. An empty one has no effect.
  void extend(const Engine::Extension& extension);
  /// True if an extension is stored and not yet applied.
  bool has_extension() const { return extension_.has_value(); }
  /// Origin of a pause request: "signal" (Services::pause) or "request" (a file in `control/`); empty: none was
  /// requested.
  const std::string& pause_requested_by() const { return pause_requested_by_; }

 private:
  /// Applies the waiting extension and all requests in control/. Returns whether there was one.
  Result<bool> apply_all();
  /// Records and applies one request of control/.
  Result<void> apply(const ControlRequest& request);
  /// Records and applies the waiting extension.
  Result<void> apply_extension();
  /// Removes the waiting requests of one kind.
  Result<void> remove_requests(ControlRequest::Kind kind);
  /// Ends the study if it has worked for its minutes. Returns whether it has.
  Result<bool> check_guard();
  /// Records the working time and syncs the log, when they are due.
  Result<void> do_periodic_work(double now);
  /// Records the working time of this attempt.
  Result<void> record_worked_seconds();

  StudyContext& study_;
  const ActiveTrials& active_;
  TrialEnder& ender_;
  SlotFiller& slots_;
  std::optional<Engine::Extension> extension_;  ///< Requested and not yet applied.
  std::string pause_requested_by_;              ///< Source of the pause request, or empty.
  double last_sync_seconds_ = 0;                ///< Monotonic clock.
  double last_worked_record_seconds_ = 0;       ///< Monotonic clock.
  std::optional<double> last_poll_seconds_;     ///< Monotonic clock; absent: the next poll is due at once.
};

}  // namespace lanista::engine
