// Coming back to a study: what the log tells is put to work again.
#include <unistd.h>

#include "lanista/ipc/host.h"
#include "lanista/engine/core/study_engine.h"

namespace lanista::engine {
namespace {

using store::RecordType;

}  // namespace

Result<void> StudyEngine::begin_attempt() {
  began_ = last_sync_ = last_worked_ = services_.clock->now();
  const double date = services_.clock->unix_time();
  state_.begin_attempt(date);
  const std::string host = own_host();
  LANISTA_TRY(log_.append(RecordType::kAttempt, begin_body(date, getpid(), host.empty() ? "unknown" : host)));
  // Whoever asked for a pause got one: nobody was working.
  LANISTA_ASSIGN(const std::vector<Request> requests, pending_requests(*services_.fs, folder_));
  for (const Request& request : requests) {
    if (request.kind == Request::Kind::kPause) LANISTA_TRY(remove_request(*services_.fs, folder_, request));
  }
  open_zoo();
  return {};
}

Result<void> StudyEngine::restore_shelf() {
  shelf_.hold(state_.view.frozen);
  if (const auto& file = state_.view.start_file) shelf_.hold(file->address);
  for (const TrialView& trial : state_.view.trials) {
    keys_.emplace(study::run_key(trial.begun()), trial.id);
    if (!trial.outcome || !ranks(trial, *trial.outcome)) continue;
    const auto trainings = study::trainings_of(state_.view, trial);
    const auto joint = study::joint_standing(state_.view.config, trainings);
    const bool done = study::trainings_done(state_.view.config, study::tally_of(trainings));
    if (joint && joint->trial == trial.id) podium_.add(*joint);
    if (done) continue;
    shelf_.hold(trial.outcome->weights);
    hold_start(trial.id);
  }
  for (const study::Standing& s : podium_.best()) {
    for (const TrialView* each : study::standing_for(state_.view, state_.trial(s.trial))) {
      shelf_.hold(each->outcome->weights);
      hold_start(each->id);
      tell_zoo(*each);  // whoever was killed behind the record has not
    }
  }
  for (auto& [id, open] : state_.open) {
    hold_start(id);
    LANISTA_TRY(mend_zoo_start(id));
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

/// Whether what follows from a running trial's last measurement has to be found out again. What was settled stays
/// settled while requests are obeyed, so this is asked of the trial, not of the last record.
bool StudyEngine::unsettled(TrialId id) {
  const TrialView& trial = state_.trial(id);
  if (trial.measurements.empty()) return false;
  const bool last_event = state_.last == StudyState::Last::kMeasured && state_.last_trial == id;
  return last_event || state_.open.at(id).verdict || trial.measurements.back().epoch >= trial.budget;
}

Result<void> StudyEngine::pick_up() {
  std::vector<TrialId> running, waiting;  // waiting: for what follows from their last measurement
  std::vector<TrialId> paused_and_cancelled;
  for (const auto& [id, open] : state_.open) {
    if (state_.paused(id)) {
      if (open.cancel_asked) paused_and_cancelled.push_back(id);
      continue;
    }
    const auto epochs = static_cast<std::int64_t>(state_.trial(id).measurements.size());
    const bool waits = unsettled(id);
    enter(id, waits ? epochs : epochs + 1);
    (waits ? waiting : running).push_back(id);
  }
  if (!state_.ending.empty()) return end_now(state_.ending);
  if (!state_.winding_up.empty()) return wind_up();
  for (const TrialId id : paused_and_cancelled) LANISTA_TRY(cancel(id, "stopped by the user"));
  LANISTA_TRY(end_implied());
  // Verdicts first: the strategy has seen what it had seen when they were due, and no request that was obeyed later.
  for (const TrialId id : waiting) LANISTA_TRY(pick_up(id, true));
  for (const TrialId id : running) LANISTA_TRY(pick_up(id, false));
  return fill();
}

Result<void> StudyEngine::pick_up(TrialId id, bool waits) {
  if (!active_.contains(id)) return {};  // ended meanwhile: what was picked up before it made the strategy stop it
  const OpenTrial& open = state_.open.at(id);
  const TrialId first = keys_.at(study::run_key(state_.trial(id).begun()));
  if (first != id) return conclude(id, {study::OutcomeKind::kDuplicate, "", first, "", {}});
  if (open.cancel_asked) return cancel(id, "stopped by the user");
  if (waits) {
    LANISTA_TRY(settle(active_.at(id)));
    const auto it = active_.find(id);
    if (it == active_.end() || it->second.settled()) return {};
  }
  return start(active_.at(id), open.checkpoint);
}

}  // namespace lanista::engine
