#include "lanista/engine/core/request_handler.h"

#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "lanista/ipc/host_name.h"

namespace lanista::engine {
namespace {

using store::RecordType;

constexpr double kSyncPeriodSeconds = 1;
constexpr double kWorkedPeriodSeconds = 10;  ///< Seconds between records of the attempt's working time.

}  // namespace

Result<void> RequestHandler::begin_attempt() {
  study_.attempt_start_seconds = last_sync_seconds_ = last_worked_record_seconds_ = study_.services.clock->now();
  const double date = study_.services.clock->unix_time();
  const bool is_first = !study_.state.has_attempts;
  study_.state.begin_attempt(date);
  const std::string host = local_host_name();
  LANISTA_TRY(
      study_.log.append(RecordType::kAttempt, attempt_begin_body(date, getpid(), host.empty() ? "unknown" : host)));
  // A request of a new study came after its folder, perhaps before this moment. One of an earlier attempt is out of
  // date.
  return is_first ? Result<void>() : remove_requests(ControlRequest::Kind::kPause);
}

Result<void> RequestHandler::remove_requests(ControlRequest::Kind kind) {
  FileSystem& fs = *study_.services.fs;
  LANISTA_ASSIGN(const std::vector<ControlRequest> requests, pending_control_requests(fs, study_.folder));
  for (const ControlRequest& request : requests) {
    if (request.kind == kind) LANISTA_TRY(remove_control_request(fs, study_.folder, request));
  }
  return {};
}

Result<bool> RequestHandler::poll() {
  const Services& services = study_.services;
  if (services.pause != nullptr && services.pause->load() != 0) pause_requested_by_ = "signal";
  const double now = services.clock->now();
  if (last_poll_seconds_ && now >= *last_poll_seconds_ && now - *last_poll_seconds_ < kPollSeconds) return false;
  last_poll_seconds_ = now;
  study_.state.set_worked_seconds(now - study_.attempt_start_seconds);
  if (services.observer.on_idle) services.observer.on_idle(study_.state.view);
  LANISTA_ASSIGN(bool has_applied, apply_all());
  LANISTA_ASSIGN(const bool is_guarded, check_guard());
  has_applied = has_applied || is_guarded;
  LANISTA_TRY(do_periodic_work(now));
  if (has_applied) last_poll_seconds_.reset();
  return has_applied;
}

Result<bool> RequestHandler::apply_all() {
  const bool is_extended = extension_.has_value();
  if (extension_) LANISTA_TRY(apply_extension());
  LANISTA_ASSIGN(const std::vector<ControlRequest> requests,
                 pending_control_requests(*study_.services.fs, study_.folder));
  for (const ControlRequest& request : requests) LANISTA_TRY(apply(request));
  return is_extended || !requests.empty();
}

Result<bool> RequestHandler::check_guard() {
  StudyState& state = study_.state;
  state.set_worked_seconds(study_.attempt_seconds());
  if (!state.minutes || state.view.seconds < *state.minutes * 60 || !state.pending_end_reason.empty()) return false;
  LANISTA_TRY(study_.log.append(RecordType::kControl,
                                control_body({.request = "guard", .time = study_.services.clock->unix_time()})));
  study_.event(Level::kWarning, "guard", {{"minutes", *state.minutes}});
  LANISTA_TRY(ender_.end_all("guard"));
  return true;
}

Result<void> RequestHandler::do_periodic_work(double now) {
  if (now - last_worked_record_seconds_ >= kWorkedPeriodSeconds) LANISTA_TRY(record_worked_seconds());
  if (now - last_sync_seconds_ < kSyncPeriodSeconds) return {};
  last_sync_seconds_ = now;
  LANISTA_TRY(study_.log.sync());
  return study_.checkpoints.remove_unreferenced_files();
}

Result<void> RequestHandler::apply(const ControlRequest& request) {
  constexpr std::array<const char*, 3> kNames{"pause", "stop", "stop-trial"};
  const char* name = kNames[static_cast<std::size_t>(request.kind)];
  LANISTA_TRY(study_.log.append(
      RecordType::kControl,
      control_body({.request = name, .time = study_.services.clock->unix_time(), .trial = request.trial})));
  LANISTA_TRY(study_.log.sync());
  LANISTA_TRY(remove_control_request(*study_.services.fs, study_.folder, request));
  switch (request.kind) {
    case ControlRequest::Kind::kPause:
      pause_requested_by_ = "request";
      return {};
    case ControlRequest::Kind::kStop:
      return ender_.end_all("stopped by the user");
    case ControlRequest::Kind::kStopTrial:
      if (active_.find(*request.trial) == nullptr && !study_.state.paused(*request.trial)) {
        study_.event(Level::kWarning, "stop_trial_ignored",
                     {{"trial", request.trial->value}, {"reason", "not running"}});
        return {};
      }
      LANISTA_TRY(ender_.cancel(*request.trial, "stopped by the user"));
      return slots_.fill_slots();
  }
  return {};
}

void RequestHandler::extend(const Engine::Extension& extension) {
  if (!extension.empty()) extension_ = extension;
}

Result<void> RequestHandler::apply_extension() {
  const Engine::Extension extension = *std::exchange(extension_, std::nullopt);
  // A stop that was not applied yet is older than the extension.
  LANISTA_TRY(remove_requests(ControlRequest::Kind::kStop));
  LANISTA_TRY(record_worked_seconds());  // minutes of the extension count from here
  LANISTA_TRY(study_.log.append(RecordType::kControl, control_body({.request = "extend",
                                                                    .time = study_.services.clock->unix_time(),
                                                                    .trials = extension.trials,
                                                                    .minutes = extension.minutes,
                                                                    .steps = extension.steps})));
  LANISTA_TRY(study_.log.sync());
  study_.state.extend(extension);
  return slots_.fill_slots();
}

Result<void> RequestHandler::record_worked_seconds() {
  last_worked_record_seconds_ = study_.services.clock->now();
  const double seconds = last_worked_record_seconds_ - study_.attempt_start_seconds;
  study_.state.set_worked_seconds(seconds);
  return study_.log.append(RecordType::kAttempt, attempt_worked_body("worked", seconds));
}

}  // namespace lanista::engine
