#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/engine/core/study_engine.h"
#include "lanista/search/study/start_race.h"

// Pauses and ends of trials, forks, and kept states.
namespace lanista::engine {

using store::RecordType;
using study::OutcomeKind;

Result<void> StudyEngine::pause(Active& trial) {
  trial.pausing = true;
  trial.reports.clear();
  if (run_ahead_limit_.ran_ahead(trial.id)) {
    // No verdict was due here, so the worker may have trained later epochs and this state is gone. After a resumption
    // the trial trains again to equal bits.
    if (trial.started) services_.executor->command(Finish{trial.id, false, true});
    trial.paused_state = TrialPausedReport{trial.id, trial.next, 0, {}, ""};
    return deliver(trial);
  }
  if (!trial.started) LANISTA_TRY(start_to_finish(trial));
  if (trial.started) services_.executor->command(PauseTrial{trial.id});
  return {};  // its failure is delivered as usual
}

Result<void> StudyEngine::record_paused(Active& trial) {
  const TrialId id = trial.id;
  PausedRecord record{{id, trial.next}, state_.now, trial.paused_state->address, {}};
  if (!record.address.empty()) record.weights_hash = trial.paused_state->state_hash;
  LANISTA_TRY(log_.append(RecordType::kPaused, paused_body(record)));
  if (record.address.empty()) checkpoint_refs_.release(state_.open.at(id).checkpoint);
  leave(id);
  state_.pause(record);
  announce(record.event);
  return end_pruned_by_rule();
}

Result<void> StudyEngine::resume(const strategy::ResumeTrial& member) {
  const TrialId id = member.trial;
  const auto done = static_cast<std::int64_t>(state_.trial(id).measurements.size());
  ResumedRecord record{{id, done, member.budget}, state_.now};
  if (member.fork) {
    LANISTA_ASSIGN(record.event.fork, resolve_fork(id, *member.fork));
  }
  LANISTA_TRY(log_.append(RecordType::kResumed, resumed_body(record)));
  if (record.event.fork) {
    checkpoint_refs_.hold(record.event.fork->address);
    checkpoint_refs_.release(state_.open.at(id).checkpoint);
  }
  state_.resume(record);
  announce(record.event);
  return start(enter(id, done + 1), state_.open.at(id).checkpoint);
}

Result<std::optional<study::Fork>> StudyEngine::resolve_fork(TrialId id, study::Fork fork) {
  const auto refuse = [&](const std::string& why) {
    return Error{Code::kInvalidArgument,
                 "the strategy forks trial " + std::to_string(id.value) + " from trial " +
                     std::to_string(fork.from.value) + ", " + why,
                 "strategy"};
  };
  if (fork.from.value < 1 || fork.from.value > state_.view.trials.size()) return refuse("which is not there");
  if (fork.from == id) return refuse("which is itself");
  const auto done = static_cast<std::int64_t>(state_.trial(id).measurements.size());
  if (fork.epoch != done) {
    return refuse("as of epoch " + std::to_string(fork.epoch) + "; it has trained " + std::to_string(done));
  }
  const bool is_paused = state_.paused(fork.from) && std::ssize(state_.trial(fork.from).measurements) == fork.epoch;
  if (is_paused) fork.address = state_.open.at(fork.from).paused_state;
  if (!fork.address.empty()) return std::optional(std::move(fork));
  event(Level::kWarning, "fork_lost", {{"trial", id.value}, {"from", fork.from.value}, {"epoch", fork.epoch}});
  return std::optional<study::Fork>();  // it may have been stopped after the group was suggested
}

void StudyEngine::cancel_running(TrialId id) {
  const auto it = active_.find(id);
  if (it == active_.end()) return;
  if (it->second.started) services_.executor->command(Finish{id, false, true});
  if (!it->second.finished) return;
  checkpoint_refs_.hold(it->second.finished->weights);  // these weights are not needed
  checkpoint_refs_.release(it->second.finished->weights);
}

Result<void> StudyEngine::end_trial(TrialId id, const std::string& reason) {
  cancel_running(id);
  study::Outcome outcome{OutcomeKind::kStopped, reason, {}, "", {}};
  const OpenTrial& open = state_.open.at(id);
  outcome.weights_hash = open.paused_state_hash;
  const TrialView& trial = state_.trial(id);
  if (open.paused_state_hash && ranks(trial, outcome)) {
    const bool keep = study::trainings_per_proposal(state_.view.config) > 1 ||
                      top_k_.would_admit(standing(state_.view.config, trial));
    if (keep) outcome.weights = open.paused_state;
  }
  return record_outcome_and_prune(id, std::move(outcome));
}

Result<void> StudyEngine::finish_paused_trials() {
  if (state_.finish_paused_reason.empty()) {
    ControlRecord end{.request = "end", .time = services_.clock->unix_time()};
    end.reason = exhausted_reason_.empty() ? "budget" : exhausted_reason_;
    LANISTA_TRY(log_.append(RecordType::kControl, control_body(end)));
    state_.finish_paused_reason = end.reason;
  }
  std::vector<TrialId> paused;
  for (const auto& [id, open] : state_.open) {
    if (state_.paused(id)) paused.push_back(id);
  }
  for (const TrialId id : paused) LANISTA_TRY(end_trial(id, "paused until the study ended"));
  return {};
}

Result<void> StudyEngine::record_outcome_and_prune(TrialId id, study::Outcome outcome) {
  LANISTA_TRY(record_outcome(id, std::move(outcome)));
  return end_pruned_by_rule();
}

Result<void> StudyEngine::record_outcome(TrialId id, study::Outcome outcome) {
  const double time = state_.now;
  LANISTA_TRY(log_.append(RecordType::kOutcome, outcome_body(id, outcome, time)));
  const std::string checkpoint = state_.open.at(id).checkpoint;
  leave(id);
  state_.end(id, outcome, time);
  announce(study::Ended{id, outcome});
  checkpoint_refs_.hold(outcome.weights);
  checkpoint_refs_.release(checkpoint);
  const TrialView& trial = state_.trial(id);
  add_to_model_zoo(trial);
  if (!ranks(trial, outcome)) release_weights(trial);
  const auto trainings = study::trainings_of(state_.view, trial);
  if (!study::trainings_done(state_.view.config, study::training_counts_of(trainings))) return {};
  const auto joint = study::joint_ranking_key(state_.view.config, trainings);
  const auto stays =
      joint ? study::fold_models_of(state_.view, state_.trial(joint->trial)) : std::vector<const TrialView*>();
  for (const TrialView* each : trainings) {
    const bool kept = std::ranges::find(stays, each) != stays.end();
    if (!kept && ranks(*each, *each->outcome)) release_weights(*each);
  }
  if (!joint) return {};
  for (const TrialId out : top_k_.add(*joint)) {
    for (const TrialView* each : study::fold_models_of(state_.view, state_.trial(out))) release_weights(*each);
  }
  return {};
}

Result<void> StudyEngine::cancel(TrialId id, const std::string& reason) {
  cancel_running(id);
  return record_outcome_and_prune(id, {OutcomeKind::kCancelled, reason, {}, "", {}});
}

// Uses only states that every run of the study has at this logical time, so no checkpoint that a clock requested.
Result<std::string> StudyEngine::stored_state_address(const study::Start& start) const {
  if (start.parent.value < 1 || start.parent.value > state_.view.trials.size()) {
    return Error{
        Code::kInvalidArgument,
        "the strategy starts a trial from trial " + std::to_string(start.parent.value) + ", which is not there",
        "strategy"};
  }
  if (state_.view.config.data.folds) {
    return Error{Code::kInvalidArgument,
                 "the strategy starts a trial from trial " + std::to_string(start.parent.value) +
                     "; with data.folds the parent may have trained on rows that its child is measured on",
                 "strategy"};
  }
  const TrialView& parent = state_.trial(start.parent);
  if (parent.measurements.empty() || parent.measurements.back().epoch != start.epoch) return std::string();
  if (state_.paused(parent.id)) return state_.open.at(parent.id).paused_state;
  const bool is_kept = parent.outcome && checkpoint_refs_.has_reference(parent.outcome->weights);
  return is_kept ? parent.outcome->weights : std::string();
}

void StudyEngine::hold_start_states(TrialId id) {
  for (const study::Start* start : study::start_parents_of(state_.trial(id).proposal))
    checkpoint_refs_.hold(start->address);
}

// Lost weights could be trained again from the start, so the start is held until the weights are not needed.
void StudyEngine::release_weights(const TrialView& trial) {
  checkpoint_refs_.release(trial.outcome->weights);
  for (const study::Start* start : study::start_parents_of(trial.proposal)) checkpoint_refs_.release(start->address);
}

}  // namespace lanista::engine
