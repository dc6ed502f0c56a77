#pragma once

#include <optional>
#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/control_requests.h"
#include "lanista/engine/core/slot_filler.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/trial_ender.h"

namespace lanista::engine {

/// Applies requests of the user between two events, and does periodic work: working time, guard, sync of the log. Not
/// thread-safe.
class RequestHandler {
 public:
  /// Requests end trials of `active` through `ender` and free slots of `slots`.
  RequestHandler(StudyContext& study, const ActiveTrials& active, TrialEnder& ender, SlotFiller& slots)
      : study_(study), active_(active), ender_(ender), slots_(slots) {}

  /// Records the begin of an attempt. Removes pause requests, which are void because the study was not running.
  Result<void> begin_attempt();
  /// Reads requests and does periodic work. Returns whether a request was applied; then it runs again before an event.
  Result<bool> poll();
  /// Applies an extension as the next request. An empty one has no effect.
  void extend(const Engine::Extension& extension);
  /// Whether an extension waits.
  bool has_extension() const { return extension_.has_value(); }
  /// What requested a pause: "signal" or "request"; empty: nothing.
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
