// Continues a study from its log.
#include <unistd.h>

#include "lanista/engine/core/study_engine.h"
#include "lanista/ipc/host_name.h"

namespace lanista::engine {
namespace {

using store::RecordType;

}  // namespace

Result<void> StudyEngine::begin_attempt() {
  attempt_start_seconds_ = last_sync_seconds_ = last_worked_record_seconds_ = services_.clock->now();
  const double date = services_.clock->unix_time();
  state_.begin_attempt(date);
  const std::string host = local_host_name();
  LANISTA_TRY(log_.append(RecordType::kAttempt, attempt_begin_body(date, getpid(), host.empty() ? "unknown" : host)));
  // The study was not running, so a pause request is done.
  LANISTA_ASSIGN(const std::vector<ControlRequest> requests, pending_control_requests(*services_.fs, folder_));
  for (const ControlRequest& request : requests) {
    if (request.kind == ControlRequest::Kind::kPause)
      LANISTA_TRY(remove_control_request(*services_.fs, folder_, request));
  }
  open_zoo();
  return {};
}

Result<void> StudyEngine::restore_checkpoint_refs() {
  checkpoint_refs_.hold(state_.view.frozen);
  if (const auto& file = state_.view.start_file) checkpoint_refs_.hold(file->address);
  for (const TrialView& trial : state_.view.trials) {
    keys_.emplace(study::run_key(trial.begun()), trial.id);
    if (!trial.outcome || !ranks(trial, *trial.outcome)) continue;
    const auto trainings = study::trainings_of(state_.view, trial);
    const auto joint = study::joint_ranking_key(state_.view.config, trainings);
    const bool done = study::trainings_done(state_.view.config, study::training_counts_of(trainings));
    if (joint && joint->trial == trial.id) top_k_.add(*joint);
    if (done) continue;
    checkpoint_refs_.hold(trial.outcome->weights);
    hold_start_states(trial.id);
  }
  for (const study::RankingKey& s : top_k_.best()) {
    for (const TrialView* each : study::fold_models_of(state_.view, state_.trial(s.trial))) {
      checkpoint_refs_.hold(each->outcome->weights);
      hold_start_states(each->id);
      add_to_model_zoo(*each);  // a process killed after the record has not done it
    }
  }
  for (auto& [id, open] : state_.open) {
    hold_start_states(id);
    LANISTA_TRY(repair_zoo_start(id));
    if (open.checkpoint.empty()) continue;
    const auto whole = checkpoint_refs_.files().get(open.checkpoint);
    if (whole) {
      checkpoint_refs_.hold(open.checkpoint);
      continue;
    }
    event(Level::kWarning, "checkpoint_lost", {{"trial", id.value}, {"reason", whole.error().text()}});
    open.checkpoint.clear();
  }
  return checkpoint_refs_.remove_unreferenced();
}

/// Whether the consequences of a running trial's last measurement must be computed again. Requests do not change them,
/// so this depends on the trial and not on the last record.
bool StudyEngine::needs_verdict(TrialId id) {
  const TrialView& trial = state_.trial(id);
  if (trial.measurements.empty()) return false;
  const bool last_event = state_.last_record == StudyState::LastRecord::kMeasured && state_.last_trial == id;
  return last_event || state_.open.at(id).verdict || trial.measurements.back().epoch >= trial.budget;
}

Result<void> StudyEngine::complete_last_event() {
  std::vector<TrialId> running, waiting;  // waiting: for the consequences of their last measurement
  std::vector<TrialId> cancelled_while_paused;
  for (const auto& [id, open] : state_.open) {
    if (state_.paused(id)) {
      if (open.cancel_asked) cancelled_while_paused.push_back(id);
      continue;
    }
    const auto epochs = static_cast<std::int64_t>(state_.trial(id).measurements.size());
    const bool needs_verdict_again = needs_verdict(id);
    enter(id, needs_verdict_again ? epochs : epochs + 1);
    (needs_verdict_again ? waiting : running).push_back(id);
  }
  if (!state_.pending_end_reason.empty()) return end_all_trials(state_.pending_end_reason);
  if (!state_.finish_paused_reason.empty()) return finish_paused_trials();
  for (const TrialId id : cancelled_while_paused) LANISTA_TRY(cancel(id, "stopped by the user"));
  LANISTA_TRY(end_pruned_by_rule());
  // Verdicts come first: the strategy then has observed the same events as when they were due.
  for (const TrialId id : waiting) LANISTA_TRY(complete_last_event(id, true));
  for (const TrialId id : running) LANISTA_TRY(complete_last_event(id, false));
  return fill_slots();
}

Result<void> StudyEngine::complete_last_event(TrialId id, bool needs_verdict_again) {
  if (!active_.contains(id)) return {};  // the strategy stopped it after an earlier one
  const OpenTrial& open = state_.open.at(id);
  const TrialId first = keys_.at(study::run_key(state_.trial(id).begun()));
  if (first != id) return record_outcome_and_prune(id, {study::OutcomeKind::kDuplicate, "", first, "", {}});
  if (open.cancel_asked) return cancel(id, "stopped by the user");
  if (needs_verdict_again) {
    LANISTA_TRY(apply_verdict(active_.at(id)));
    const auto it = active_.find(id);
    if (it == active_.end() || it->second.is_ending_or_pausing()) return {};
  }
  return start(active_.at(id), open.checkpoint);
}

}  // namespace lanista::engine
