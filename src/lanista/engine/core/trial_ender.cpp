#include "lanista/engine/core/trial_ender.h"

#include <utility>
#include <vector>

namespace lanista::engine {

using store::RecordType;
using study::OutcomeKind;

void TrialEnder::abandon(TrialId id) {
  const ActiveTrial* trial = active_.find(id);
  if (trial == nullptr) return;
  launcher_.abandon(*trial);
  if (!trial->waiting.finished) return;
  study_.checkpoints.hold(trial->waiting.finished->weights);  // these weights are not needed
  study_.checkpoints.release(trial->waiting.finished->weights);
}

Result<void> TrialEnder::record_outcome(TrialId id, study::Outcome outcome) {
  LANISTA_TRY(record_outcome_alone(id, std::move(outcome)));
  return end_all_pruned();
}

Result<void> TrialEnder::record_outcome_alone(TrialId id, study::Outcome outcome) {
  StudyState& state = study_.state;
  const double time = state.now;
  LANISTA_TRY(study_.log.append(RecordType::kOutcome, outcome_body(id, outcome, time)));
  const std::string checkpoint = state.open.at(id).checkpoint;
  launcher_.remove(id);
  state.end(id, outcome, time);
  search_.announce(study::Ended{id, outcome});
  study_.checkpoints.hold(outcome.weights);
  study_.checkpoints.release(checkpoint);
  zoo_.add(state.trial(id));
  kept_.rank_ended(state.trial(id));
  return {};
}

Result<void> TrialEnder::cancel(TrialId id, const std::string& reason) {
  abandon(id);
  return record_outcome(id, {OutcomeKind::kCancelled, reason, {}, "", {}});
}

Result<void> TrialEnder::stop(TrialId id, const std::string& reason) {
  abandon(id);
  study::Outcome outcome{OutcomeKind::kStopped, reason, {}, "", {}};
  const OpenTrial& open = study_.state.open.at(id);
  outcome.weights_hash = open.paused_state_hash;
  const TrialView& trial = study_.state.trial(id);
  if (open.paused_state_hash && ranks(trial, outcome) && kept_.would_keep(trial)) outcome.weights = open.paused_state;
  return record_outcome(id, std::move(outcome));
}

Result<void> TrialEnder::end_pruned(TrialId id, const PruningByRules::Reason& by) {
  abandon(id);
  study::Outcome outcome{
      OutcomeKind::kPrunedByRule, "implied by trial " + std::to_string(by.by.value) + " (" + by.rule + ")", {}, "", {}};
  outcome.pruned_by = by.by;
  outcome.rule = by.rule;
  return record_outcome_alone(id, std::move(outcome));
}

Result<void> TrialEnder::end_all_pruned() {
  const StudyState& state = study_.state;
  if (state.view.config.implied.empty() || !state.pending_end_reason.empty() || !state.finish_paused_reason.empty())
    return {};
  const std::map<TrialId, ActiveTrial>& trials = active_.trials();
  for (auto trial = trials.begin(); trial != trials.end();) {
    const TrialId id = trial->first;
    const TrialView& view = state.trial(id);
    const OpenTrial& open = state.open.at(id);
    // A trial with a verdict keeps it. A duplicate or a cancelled trial ends as such.
    const bool has_verdict =
        open.verdict || (!view.measurements.empty() && view.measurements.back().epoch >= view.budget);
    const auto by = has_verdict || open.cancel_asked ? std::nullopt : search_.rules().reason_to_prune(id, view.budget);
    if (!by || search_.first_like(id) != id) {
      ++trial;
      continue;
    }
    LANISTA_TRY(end_pruned(id, *by));
    trial = trials.begin();
  }
  return {};
}

Result<void> TrialEnder::stop_all_paused(const std::string& reason) {
  StudyState& state = study_.state;
  if (state.finish_paused_reason.empty()) {
    ControlRecord end{.request = "end", .time = study_.services.clock->unix_time()};
    end.reason = reason;
    LANISTA_TRY(study_.log.append(RecordType::kControl, control_body(end)));
    state.finish_paused_reason = end.reason;
  }
  std::vector<TrialId> paused;
  for (const auto& [id, open] : state.open) {
    if (state.paused(id)) paused.push_back(id);
  }
  for (const TrialId id : paused) LANISTA_TRY(stop(id, "paused until the study ended"));
  return {};
}

Result<void> TrialEnder::end_all(const std::string& reason) {
  StudyState& state = study_.state;
  if (state.pending_end_reason.empty()) state.pending_end_reason = reason;
  while (active_.size() > 0) LANISTA_TRY(cancel(active_.trials().begin()->first, state.pending_end_reason));
  while (!state.open.empty()) LANISTA_TRY(stop(state.open.begin()->first, "paused until the study ended"));
  return {};
}

}  // namespace lanista::engine
