// What is asked of a running study from outside, obeyed between two events.
#include <array>

#include "lanista/engine/core/study_engine.h"

namespace lanista::engine {
namespace {

using store::RecordType;

constexpr double kSyncSeconds = 1;
constexpr double kWorkedSeconds = 10;  ///< between notes of how long this attempt has worked

}  // namespace

Result<bool> StudyEngine::poll() {
  if (services_.pause != nullptr && services_.pause->load() != 0) pause_asked_ = "signal";
  const double now = services_.clock->now();
  if (last_poll_ && now >= *last_poll_ && now - *last_poll_ < kPollSeconds) return false;
  last_poll_ = now;
  state_.worked(now - began_);
  if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
  bool obeyed = extension_.has_value();
  if (extension_) LANISTA_TRY(obey_extension());
  LANISTA_ASSIGN(const std::vector<Request> requests, pending_requests(*services_.fs, folder_));
  for (const Request& request : requests) LANISTA_TRY(obey(request));
  obeyed = obeyed || !requests.empty();

  state_.worked(services_.clock->now() - began_);
  if (state_.minutes && state_.view.seconds >= *state_.minutes * 60 && state_.ending.empty()) {
    LANISTA_TRY(
        log_.append(RecordType::kControl, control_body({.request = "guard", .time = services_.clock->unix_time()})));
    event(Level::kWarning, "guard", {{"minutes", *state_.minutes}});
    LANISTA_TRY(end_now("guard"));
    obeyed = true;
  }
  if (now - last_worked_ >= kWorkedSeconds) LANISTA_TRY(note_worked());
  if (now - last_sync_ >= kSyncSeconds) {
    last_sync_ = now;
    LANISTA_TRY(log_.sync());
    LANISTA_TRY(shelf_.flush());
  }
  if (obeyed) last_poll_.reset();
  return obeyed;
}

Result<void> StudyEngine::obey(const Request& request) {
  constexpr std::array<const char*, 3> kNames{"pause", "stop", "stop-trial"};
  const char* name = kNames[static_cast<std::size_t>(request.kind)];
  LANISTA_TRY(
      log_.append(RecordType::kControl,
                  control_body({.request = name, .time = services_.clock->unix_time(), .trial = request.trial})));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(remove_request(*services_.fs, folder_, request));
  switch (request.kind) {
    case Request::Kind::kPause:
      pause_asked_ = "request";
      return {};
    case Request::Kind::kStop:
      return end_now("stopped by the user");
    case Request::Kind::kStopTrial:
      if (!active_.contains(*request.trial) && !state_.paused(*request.trial)) {
        event(Level::kWarning, "stop_trial_ignored", {{"trial", request.trial->value}, {"reason", "not running"}});
        return {};
      }
      LANISTA_TRY(cancel(*request.trial, "stopped by the user"));
      return fill();
  }
  return {};
}

void StudyEngine::extend(const Extension& extension) {
  if (!extension.empty()) extension_ = extension;
}

Result<void> StudyEngine::obey_extension() {
  const Extension extension = *std::exchange(extension_, std::nullopt);
  // A stop that nobody has obeyed is older than the wish for more.
  LANISTA_ASSIGN(const std::vector<Request> requests, pending_requests(*services_.fs, folder_));
  for (const Request& request : requests) {
    if (request.kind == Request::Kind::kStop) LANISTA_TRY(remove_request(*services_.fs, folder_, request));
  }
  LANISTA_TRY(note_worked());  // further minutes count from here
  LANISTA_TRY(log_.append(RecordType::kControl, control_body({.request = "extend",
                                                              .time = services_.clock->unix_time(),
                                                              .trials = extension.trials,
                                                              .minutes = extension.minutes,
                                                              .steps = extension.steps})));
  LANISTA_TRY(log_.sync());
  state_.extend(extension);
  return fill();
}

Result<void> StudyEngine::end_now(const std::string& reason) {
  if (state_.ending.empty()) state_.ending = reason;
  while (!active_.empty()) LANISTA_TRY(cancel(active_.begin()->first, state_.ending));
  while (!state_.open.empty()) LANISTA_TRY(retire(state_.open.begin()->first, "paused until the study ended"));
  return {};
}

Result<void> StudyEngine::note_worked() {
  last_worked_ = services_.clock->now();
  state_.worked(last_worked_ - began_);
  return log_.append(RecordType::kAttempt, worked_body("worked", last_worked_ - began_));
}

Result<Summary> StudyEngine::pause() {
  if (pause_asked_ == "signal") {
    LANISTA_TRY(
        log_.append(RecordType::kControl,
                    control_body({.request = "pause", .time = services_.clock->unix_time(), .by = pause_asked_})));
  }
  services_.executor->command(PauseAll{});
  while (!paused_) {
    auto report = services_.executor->next(kPollSeconds);
    if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
    // What trials measured and was not delivered lies in their checkpoints.
    if (report) LANISTA_TRY(take(*std::move(report)));
  }
  state_.worked(services_.clock->now() - began_);
  LANISTA_TRY(log_.append(RecordType::kAttempt, worked_body("paused", services_.clock->now() - began_)));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(shelf_.flush());
  remember();
  return Summary{End::kPaused, pause_asked_};
}

// What is remembered of times is worth no study: whatever is wrong with it is told.
void StudyEngine::remember() {
  const auto done = remember_times(state_.view, *services_.data, models_->ops(), services_.profiles, *services_.fs);
  if (!done) event(Level::kWarning, "profiles", {{"reason", done.error().text()}});
}

}  // namespace lanista::engine
