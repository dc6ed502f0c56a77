// Requests to a running study, applied between two events.
#include <array>

#include "lanista/engine/core/study_engine.h"

namespace lanista::engine {
namespace {

using store::RecordType;

constexpr double kSyncPeriodSeconds = 1;
constexpr double kWorkedPeriodSeconds = 10;  ///< Seconds between records of the attempt's working time.

}  // namespace

Result<bool> StudyEngine::poll_requests() {
  if (services_.pause != nullptr && services_.pause->load() != 0) pause_requested_by_ = "signal";
  const double now = services_.clock->now();
  if (last_poll_seconds_ && now >= *last_poll_seconds_ && now - *last_poll_seconds_ < kPollSeconds) return false;
  last_poll_seconds_ = now;
  state_.set_worked_seconds(now - attempt_start_seconds_);
  if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
  bool has_applied = extension_.has_value();
  if (extension_) LANISTA_TRY(apply_extension());
  LANISTA_ASSIGN(const std::vector<ControlRequest> requests, pending_control_requests(*services_.fs, folder_));
  for (const ControlRequest& request : requests) LANISTA_TRY(apply_request(request));
  has_applied = has_applied || !requests.empty();

  state_.set_worked_seconds(services_.clock->now() - attempt_start_seconds_);
  if (state_.minutes && state_.view.seconds >= *state_.minutes * 60 && state_.pending_end_reason.empty()) {
    LANISTA_TRY(
        log_.append(RecordType::kControl, control_body({.request = "guard", .time = services_.clock->unix_time()})));
    event(Level::kWarning, "guard", {{"minutes", *state_.minutes}});
    LANISTA_TRY(end_all_trials("guard"));
    has_applied = true;
  }
  if (now - last_worked_record_seconds_ >= kWorkedPeriodSeconds) LANISTA_TRY(record_worked_seconds());
  if (now - last_sync_seconds_ >= kSyncPeriodSeconds) {
    last_sync_seconds_ = now;
    LANISTA_TRY(log_.sync());
    LANISTA_TRY(checkpoint_refs_.remove_unreferenced_files());
  }
  if (has_applied) last_poll_seconds_.reset();
  return has_applied;
}

Result<void> StudyEngine::apply_request(const ControlRequest& request) {
  constexpr std::array<const char*, 3> kNames{"pause", "stop", "stop-trial"};
  const char* name = kNames[static_cast<std::size_t>(request.kind)];
  LANISTA_TRY(
      log_.append(RecordType::kControl,
                  control_body({.request = name, .time = services_.clock->unix_time(), .trial = request.trial})));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(remove_control_request(*services_.fs, folder_, request));
  switch (request.kind) {
    case ControlRequest::Kind::kPause:
      pause_requested_by_ = "request";
      return {};
    case ControlRequest::Kind::kStop:
      return end_all_trials("stopped by the user");
    case ControlRequest::Kind::kStopTrial:
      if (!active_.contains(*request.trial) && !state_.paused(*request.trial)) {
        event(Level::kWarning, "stop_trial_ignored", {{"trial", request.trial->value}, {"reason", "not running"}});
        return {};
      }
      LANISTA_TRY(cancel(*request.trial, "stopped by the user"));
      return fill_slots();
  }
  return {};
}

void StudyEngine::extend(const Extension& extension) {
  if (!extension.empty()) extension_ = extension;
}

Result<void> StudyEngine::apply_extension() {
  const Extension extension = *std::exchange(extension_, std::nullopt);
  // A stop that was not applied yet is older than the extension.
  LANISTA_ASSIGN(const std::vector<ControlRequest> requests, pending_control_requests(*services_.fs, folder_));
  for (const ControlRequest& request : requests) {
    if (request.kind == ControlRequest::Kind::kStop)
      LANISTA_TRY(remove_control_request(*services_.fs, folder_, request));
  }
  LANISTA_TRY(record_worked_seconds());  // minutes of the extension count from here
  LANISTA_TRY(log_.append(RecordType::kControl, control_body({.request = "extend",
                                                              .time = services_.clock->unix_time(),
                                                              .trials = extension.trials,
                                                              .minutes = extension.minutes,
                                                              .steps = extension.steps})));
  LANISTA_TRY(log_.sync());
  state_.extend(extension);
  return fill_slots();
}

Result<void> StudyEngine::end_all_trials(const std::string& reason) {
  if (state_.pending_end_reason.empty()) state_.pending_end_reason = reason;
  while (!active_.empty()) LANISTA_TRY(cancel(active_.begin()->first, state_.pending_end_reason));
  while (!state_.open.empty()) LANISTA_TRY(end_trial(state_.open.begin()->first, "paused until the study ended"));
  return {};
}

Result<void> StudyEngine::record_worked_seconds() {
  last_worked_record_seconds_ = services_.clock->now();
  state_.set_worked_seconds(last_worked_record_seconds_ - attempt_start_seconds_);
  return log_.append(RecordType::kAttempt,
                     attempt_worked_body("worked", last_worked_record_seconds_ - attempt_start_seconds_));
}

Result<RunResult> StudyEngine::pause() {
  if (pause_requested_by_ == "signal") {
    LANISTA_TRY(log_.append(
        RecordType::kControl,
        control_body({.request = "pause", .time = services_.clock->unix_time(), .by = pause_requested_by_})));
  }
  services_.executor->command(PauseAll{});
  while (!paused_) {
    auto report = services_.executor->next(kPollSeconds);
    if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
    // Undelivered measurements are in the checkpoints.
    if (report) LANISTA_TRY(accept_report(*std::move(report)));
  }
  state_.set_worked_seconds(services_.clock->now() - attempt_start_seconds_);
  LANISTA_TRY(log_.append(RecordType::kAttempt,
                          attempt_worked_body("paused", services_.clock->now() - attempt_start_seconds_)));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(checkpoint_refs_.remove_unreferenced_files());
  save_study_timings();
  return RunResult{RunEnd::kPaused, pause_requested_by_};
}

// A failure here must not end a study, so it becomes a warning.
void StudyEngine::save_study_timings() {
  const auto done = save_timings(state_.view, *services_.data, models_->ops(), services_.profiles, *services_.fs);
  if (!done) event(Level::kWarning, "profiles", {{"reason", done.error().text()}});
}

}  // namespace lanista::engine
