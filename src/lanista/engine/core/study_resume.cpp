// Continues a study from its log.
#include "lanista/engine/core/study_engine.h"

namespace lanista::engine {

Result<void> StudyEngine::restore_kept_states() {
  kept_.restore_ended();
  for (const study::RankingKey& best : kept_.best()) {
    // A process that was killed after the record has not added it.
    for (const TrialView* each : study::fold_models_of(study_.state.view, study_.state.trial(best.trial)))
      zoo_.add(*each);
  }
  for (const auto& [id, open] : study_.state.open) {
    kept_.hold_start_states(id);
    LANISTA_TRY(zoo_.repair_start(id));
    kept_.restore_checkpoint(id);
  }
  return study_.checkpoints.remove_unreferenced();
}

/// Whether the consequences of a running trial's last measurement must be computed again. Requests do not change them,
/// so this depends on the trial and not on the last record.
bool StudyEngine::needs_verdict(TrialId id) const {
  const StudyState& state = study_.state;
  const TrialView& trial = state.trial(id);
  if (trial.measurements.empty()) return false;
  const bool last_event = state.last_record == StudyState::LastRecord::kMeasured && state.last_trial == id;
  return last_event || state.open.at(id).verdict || trial.measurements.back().epoch >= trial.budget;
}

Result<void> StudyEngine::complete_last_event() {
  const StudyState& state = study_.state;
  std::vector<TrialId> running, waiting;  // waiting: for the consequences of their last measurement
  std::vector<TrialId> cancelled_while_paused;
  for (const auto& [id, open] : state.open) {
    if (state.paused(id)) {
      if (open.cancel_asked) cancelled_while_paused.push_back(id);
      continue;
    }
    const auto epochs = static_cast<std::int64_t>(state.trial(id).measurements.size());
    const bool needs_verdict_again = needs_verdict(id);
    active_.enter(id, needs_verdict_again ? epochs : epochs + 1);
    (needs_verdict_again ? waiting : running).push_back(id);
  }
  if (!state.pending_end_reason.empty()) return ender_.end_all(state.pending_end_reason);
  if (!state.finish_paused_reason.empty()) return ender_.stop_all_paused(state.finish_paused_reason);
  for (const TrialId id : cancelled_while_paused) LANISTA_TRY(ender_.cancel(id, "stopped by the user"));
  LANISTA_TRY(ender_.end_all_pruned());
  // Verdicts come first: the strategy then has observed the same events as when they were due.
  for (const TrialId id : waiting) LANISTA_TRY(complete_last_event(id, true));
  for (const TrialId id : running) LANISTA_TRY(complete_last_event(id, false));
  return slots_.fill_slots();
}

Result<void> StudyEngine::complete_last_event(TrialId id, bool needs_verdict_again) {
  ActiveTrial* trial = active_.find(id);
  if (trial == nullptr) return {};  // the strategy stopped it after an earlier one
  const OpenTrial& open = study_.state.open.at(id);
  const TrialId first = search_.first_like(id);
  if (first != id) return ender_.record_outcome(id, {study::OutcomeKind::kDuplicate, "", first, "", {}});
  if (open.cancel_asked) return ender_.cancel(id, "stopped by the user");
  if (needs_verdict_again) {
    LANISTA_TRY(delivery_.apply_verdict(*trial));
    trial = active_.find(id);
    if (trial == nullptr || trial->is_ending_or_pausing()) return {};
  }
  return launcher_.start(*trial, open.checkpoint);
}

}  // namespace lanista::engine
