#include "lanista/engine/study_engine.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "lanista/engine/assembly.h"

namespace lanista::engine {
namespace {

using store::RecordType;

constexpr double kPollSeconds = 0.25;  ///< between looks at control/ and between signs of life
constexpr double kSyncSeconds = 1;
constexpr double kWorkedSeconds = 10;  ///< between notes of how long this attempt has worked

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

}  // namespace

StudyEngine::StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
                         std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<strategy::Strategy> strategy)
    : folder_(std::move(folder)),
      services_(std::move(services)),
      log_(std::move(log)),
      state_(std::move(state)),
      models_(std::move(models)),
      strategy_(std::move(strategy)),
      podium_(podium_size()),
      shelf_(store::CheckpointStore(*services_.fs, folder_)) {}

void StudyEngine::event(Level level, const std::string& name, nlohmann::json fields) const {
  if (services_.sink) services_.sink->write({services_.clock->unix_time(), level, name, std::move(fields)});
}

Result<Summary> StudyEngine::run() {
  if (state_.view.end_reason) return Summary{End::kDone, *state_.view.end_reason};
  auto summary = loop();
  if (!summary) {
    abandon_all();
    // What is in the log so far should reach the disk; if that fails too, the first error is the one to tell.
    static_cast<void>(log_.sync());
    event(Level::kError, "study_interrupted", {{"reason", summary.error().text()}});
  }
  return summary;
}

void StudyEngine::abandon_all() {
  for (const auto& [id, trial] : active_) {
    if (trial.started) services_.executor->command(Finish{id, false, true});
  }
}

Result<Summary> StudyEngine::loop() {
  LANISTA_TRY(begin_attempt());
  LANISTA_TRY(restore_shelf());
  LANISTA_TRY(pick_up());
  while (true) {
    LANISTA_TRY(poll());
    if (!state_.ending.empty()) {
      while (!active_.empty()) LANISTA_TRY(cancel(active_.begin()->first, state_.ending));
    }
    if (active_.empty()) return end_study();
    if (!pause_asked_.empty()) return pause();
    Active& first = active_.at(due_.begin()->second);
    if (ready(first)) {
      LANISTA_TRY(deliver(first));
    } else if (auto report = services_.executor->next(kPollSeconds)) {
      LANISTA_TRY(take(*std::move(report)));
    }
  }
}

Result<void> StudyEngine::begin_attempt() {
  began_ = last_sync_ = last_worked_ = services_.clock->now();
  const double date = services_.clock->unix_time();
  state_.begin_attempt(date);
  LANISTA_TRY(log_.append(RecordType::kAttempt, begin_body(date, getpid(), host_name())));
  // Whoever asked for a pause got one: nobody was working.
  LANISTA_ASSIGN(const std::vector<Request> requests, pending_requests(*services_.fs, folder_));
  for (const Request& request : requests) {
    if (request.kind == Request::Kind::kPause) LANISTA_TRY(remove_request(*services_.fs, folder_, request));
  }
  return {};
}

Result<void> StudyEngine::restore_shelf() {
  for (const TrialView& trial : state_.view.trials) {
    keys_.emplace(study::duplicate_key(trial.proposal), trial.id);
    if (!trial.outcome || !ranks(trial, *trial.outcome)) continue;
    const auto trainings = study::trainings_of(state_.view, trial);
    const auto joint = study::joint_standing(state_.view.config, trainings);
    const bool done = study::trainings_done(state_.view.config.strategy, study::tally_of(trainings));
    if (joint && joint->trial == trial.id) podium_.add(*joint);
    if (!done) shelf_.hold(trial.outcome->weights);
  }
  for (const study::Standing& s : podium_.best()) shelf_.hold(state_.trial(s.trial).outcome->weights);
  for (auto& [id, open] : state_.open) {
    if (open.checkpoint.empty()) continue;
    const auto whole = shelf_.files().get(open.checkpoint);
    if (whole) {
      shelf_.hold(open.checkpoint);
      continue;
    }
    event(Level::kWarning, "checkpoint_lost", {{"trial", id.value}, {"reason", whole.error().text()}});
    open.checkpoint.clear();
  }
  return shelf_.clear_others();
}

Result<void> StudyEngine::pick_up() {
  using Last = StudyState::Last;
  const Last last = state_.last;
  const TrialId last_trial = state_.last_trial;
  const bool unsettled = (last == Last::kMeasured || last == Last::kVerdict) && state_.open.contains(last_trial);

  std::vector<TrialId> running;
  for (const auto& [id, open] : state_.open) {
    const auto epochs = static_cast<std::int64_t>(state_.trial(id).measurements.size());
    enter(id, unsettled && id == last_trial ? epochs : epochs + 1);
    running.push_back(id);
  }
  if (!state_.ending.empty()) return {};
  for (const TrialId id : running) {
    if (unsettled && id == last_trial) continue;
    const TrialId first = keys_.at(study::duplicate_key(state_.trial(id).proposal));
    if (first != id) {
      LANISTA_TRY(conclude(id, {study::OutcomeKind::kDuplicate, "", first, "", {}}));
    } else {
      LANISTA_TRY(start(active_.at(id), state_.open.at(id).checkpoint));
    }
  }
  if (unsettled) {
    LANISTA_TRY(settle(active_.at(last_trial)));
    const auto it = active_.find(last_trial);
    if (it != active_.end() && !it->second.finishing) {
      LANISTA_TRY(start(it->second, state_.open.at(last_trial).checkpoint));
    }
  } else {
    LANISTA_TRY(fill());
  }
  for (const TrialId id : running) {
    const auto open = state_.open.find(id);
    if (open == state_.open.end() || !open->second.cancel_asked) continue;
    LANISTA_TRY(cancel(id, "stopped by the user"));
    LANISTA_TRY(fill());
  }
  return {};
}

Result<void> StudyEngine::poll() {
  if (services_.pause != nullptr && services_.pause->load() != 0) pause_asked_ = "signal";
  const double now = services_.clock->now();
  if (last_poll_ && now >= *last_poll_ && now - *last_poll_ < kPollSeconds) return {};
  last_poll_ = now;
  state_.worked(now - began_);
  if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
  LANISTA_ASSIGN(const std::vector<Request> requests, pending_requests(*services_.fs, folder_));
  for (const Request& request : requests) LANISTA_TRY(obey(request));

  if (state_.minutes && state_.view.seconds >= *state_.minutes * 60 && state_.ending.empty()) {
    LANISTA_TRY(
        log_.append(RecordType::kControl, control_body({"guard", services_.clock->unix_time(), {}, {}, {}, ""})));
    state_.ending = "guard";
    event(Level::kWarning, "guard", {{"minutes", *state_.minutes}});
  }
  if (now - last_worked_ >= kWorkedSeconds) {
    last_worked_ = now;
    LANISTA_TRY(log_.append(RecordType::kAttempt, worked_body("worked", now - began_)));
  }
  if (now - last_sync_ >= kSyncSeconds) {
    last_sync_ = now;
    LANISTA_TRY(log_.sync());
    LANISTA_TRY(shelf_.flush());
  }
  return {};
}

Result<void> StudyEngine::obey(const Request& request) {
  constexpr std::array<const char*, 3> kNames{"pause", "stop", "stop-trial"};
  LANISTA_TRY(log_.append(
      RecordType::kControl,
      control_body(
          {kNames[static_cast<std::size_t>(request.kind)], services_.clock->unix_time(), request.trial, {}, {}, ""})));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(remove_request(*services_.fs, folder_, request));
  switch (request.kind) {
    case Request::Kind::kPause:
      pause_asked_ = "request";
      return {};
    case Request::Kind::kStop:
      state_.ending = "stopped by the user";
      return {};
    case Request::Kind::kStopTrial:
      if (!active_.contains(*request.trial)) {
        event(Level::kWarning, "stop_trial_ignored", {{"trial", request.trial->value}, {"reason", "not running"}});
        return {};
      }
      LANISTA_TRY(cancel(*request.trial, "stopped by the user"));
      return fill();
  }
  return {};
}

Result<Summary> StudyEngine::pause() {
  if (pause_asked_ == "signal") {
    LANISTA_TRY(log_.append(RecordType::kControl,
                            control_body({"pause", services_.clock->unix_time(), {}, {}, {}, pause_asked_})));
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
  return Summary{End::kPaused, pause_asked_};
}

Result<void> StudyEngine::take(Report report) {
  if (auto* epoch = std::get_if<EpochReport>(&report)) return take_epoch(std::move(epoch->measurement));
  if (auto* failure = std::get_if<FailureReport>(&report)) {
    const auto it = active_.find(failure->trial);
    if (it != active_.end()) it->second.failure = std::move(*failure);
  } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
    return note_checkpoint(*saved);
  } else if (auto* finished = std::get_if<FinishedReport>(&report)) {
    const auto it = active_.find(finished->trial);
    if (it != active_.end() && it->second.finishing) {
      it->second.finished = std::move(*finished);
    } else {  // it was cancelled meanwhile
      shelf_.hold(finished->weights);
      shelf_.release(finished->weights);
    }
  } else if (std::holds_alternative<PausedReport>(report)) {
    paused_ = true;
  } else if (const auto* span = std::get_if<SpanReport>(&report)) {
    // Worked seconds, as in the view: the clock goes on between attempts.
    const double offset = state_.seconds_before() - began_;
    const study::Span worked{span->trial, span->epoch, span->worker, span->began + offset, span->ended + offset};
    LANISTA_TRY(log_.append(RecordType::kSpan, span_body(worked)));
    state_.view.spans.push_back(worked);
  } else if (auto* broken = std::get_if<BrokenReport>(&report)) {
    return std::move(broken->error);
  }
  return {};
}

Result<void> StudyEngine::take_epoch(study::Measurement measurement) {
  const auto it = active_.find(measurement.trial);
  if (it == active_.end() || it->second.finishing) return {};
  Active& trial = it->second;
  const std::int64_t expected = trial.next + static_cast<std::int64_t>(trial.reports.size());
  if (measurement.epoch < expected) return {};  // a trial that came back from a checkpoint tells again
  if (measurement.epoch > expected || measurement.epoch > trial.budget) {
    return Error{Code::kInternal,
                 "trial " + std::to_string(trial.id.value) + " reported epoch " + std::to_string(measurement.epoch) +
                     " where epoch " + std::to_string(expected) + " of " + std::to_string(trial.budget) + " was due",
                 ""};
  }
  trial.reports.push_back(std::move(measurement));
  return {};
}

Result<void> StudyEngine::note_checkpoint(const CheckpointReport& report) {
  shelf_.hold(report.address);
  const auto open = state_.open.find(report.trial);
  if (open == state_.open.end()) {
    shelf_.release(report.address);
    return {};
  }
  LANISTA_TRY(
      log_.append(RecordType::kCheckpoint, checkpoint_body({report.trial, report.epoch, report.step, report.address})));
  LANISTA_TRY(log_.sync());
  shelf_.release(open->second.checkpoint);
  open->second.checkpoint = report.address;
  return shelf_.flush();
}

Result<void> StudyEngine::add_costs(study::Measurement& measurement) {
  const study::StudyConfig& config = state_.view.config;
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::any_of(config.goals, [&](const study::Goal& goal) { return goal.metric == name; }) ||
           std::ranges::any_of(config.subject_to, [&](const study::Constraint& constraint) {
             return constraint.is_measured() && std::ranges::find(constraint.names(), name) != constraint.names().end();
           });
  };
  if (!is_wanted("params") && !is_wanted("flops")) return {};
  LANISTA_ASSIGN(const Costed built, build(state_.trial(measurement.trial).proposal));
  measurement.metrics["params"] = static_cast<double>(built.cost.parameters);
  measurement.metrics["flops"] = built.cost.forward.flops;
  return {};
}

bool StudyEngine::ready(const Active& trial) const {
  if (trial.failure && trial.reports.empty()) return true;
  return trial.finishing ? trial.finished.has_value() : !trial.reports.empty();
}

Result<void> StudyEngine::deliver(Active& trial) {
  if (trial.finishing && trial.finished) {
    study::Outcome outcome = *trial.finishing;
    outcome.weights = trial.finished->weights;
    outcome.weights_hash = trial.finished->state_hash;
    LANISTA_TRY(conclude(trial.id, std::move(outcome)));
    return fill();
  }
  if (!trial.reports.empty()) {
    study::Measured event{std::move(trial.reports.front())};
    trial.reports.pop_front();
    LANISTA_TRY(add_costs(event.measurement));
    LANISTA_TRY(log_.append(RecordType::kMeasurement, study::measurement_json(event.measurement)));
    state_.measure(event.measurement);
    announce(event);
    return settle(trial);
  }
  state_.now = state_.due(trial.id, trial.next);
  const std::string reason = trial.failure->reason;
  LANISTA_TRY(conclude(trial.id, {study::OutcomeKind::kFailed, reason, {}, "", {}}));
  return fill();
}

}  // namespace lanista::engine
