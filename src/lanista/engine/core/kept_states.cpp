#include "lanista/engine/core/kept_states.h"

#include <algorithm>
#include <cstdint>

#include "lanista/search/study/start_race.h"

namespace lanista::engine {
namespace {

std::size_t top_k_size(const study::StudyConfig& config) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, config.keep.top));
}

}  // namespace

KeptStates::KeptStates(StudyContext& study) : study_(study), top_k_(top_k_size(study.state.view.config)) {}

bool KeptStates::would_keep(const TrialView& trial) const {
  const study::StudyConfig& config = study_.state.view.config;
  // The best of several trainings is known only when all are done.
  return study::trainings_per_proposal(config) > 1 || top_k_.would_admit(standing(config, trial));
}

// Uses only states that every run of the study has at this logical time, so no checkpoint that a clock requested.
Result<std::string> KeptStates::address_of(const study::Start& start) const {
  const StudyState& state = study_.state;
  if (start.parent.value < 1 || start.parent.value > state.view.trials.size()) {
    return Error{
        Code::kInvalidArgument,
        "the strategy starts a trial from trial " + std::to_string(start.parent.value) + ", which is not there",
        "strategy"};
  }
  if (state.view.config.data.folds) {
    return Error{Code::kInvalidArgument,
                 "the strategy starts a trial from trial " + std::to_string(start.parent.value) +
                     "; with data.folds the parent may have trained on rows that its child is measured on",
                 "strategy"};
  }
  const TrialView& parent = state.trial(start.parent);
  if (parent.measurements.empty() || parent.measurements.back().epoch != start.epoch) return std::string();
  if (state.paused(parent.id)) return state.open.at(parent.id).paused_state;
  const bool is_kept = parent.outcome && study_.checkpoints.has_reference(parent.outcome->weights);
  return is_kept ? parent.outcome->weights : std::string();
}

void KeptStates::hold_start_states(TrialId id) {
  for (const study::Start* start : study::start_parents_of(study_.state.trial(id).proposal))
    study_.checkpoints.hold(start->address);
}

Result<void> KeptStates::record_checkpoint(const CheckpointReport& report) {
  StudyState& state = study_.state;
  study_.checkpoints.hold(report.address);
  const auto open = state.open.find(report.trial);
  // The trial has ended or paused in the meantime, or the checkpoint has more epochs than are allowed now.
  const bool is_stale =
      open == state.open.end() || state.paused(report.trial) || report.epoch > state.trial(report.trial).budget;
  if (is_stale) {
    study_.checkpoints.release(report.address);
    return {};
  }
  LANISTA_TRY(study_.log.append(store::RecordType::kCheckpoint,
                                checkpoint_body({report.trial, report.epoch, report.step, report.address})));
  LANISTA_TRY(study_.log.sync());
  study_.checkpoints.release(open->second.checkpoint);
  open->second.checkpoint = report.address;
  return study_.checkpoints.remove_unreferenced_files();
}

void KeptStates::rank_ended(const TrialView& trial) {
  const StudyView& view = study_.state.view;
  if (!ranks(trial, *trial.outcome)) release_weights(trial);
  const auto trainings = study::trainings_of(view, trial);
  if (!study::trainings_done(view.config, study::training_counts_of(trainings))) return;
  const auto joint = study::joint_ranking_key(view.config, trainings);
  const auto stays =
      joint ? study::fold_models_of(view, study_.state.trial(joint->trial)) : std::vector<const TrialView*>();
  for (const TrialView* each : trainings) {
    const bool kept = std::ranges::find(stays, each) != stays.end();
    if (!kept && ranks(*each, *each->outcome)) release_weights(*each);
  }
  if (!joint) return;
  for (const TrialId out : top_k_.add(*joint)) {
    for (const TrialView* each : study::fold_models_of(view, study_.state.trial(out))) release_weights(*each);
  }
}

// Lost weights could be trained again from the start, so the start is held until the weights are not needed.
void KeptStates::release_weights(const TrialView& trial) {
  study_.checkpoints.release(trial.outcome->weights);
  for (const study::Start* start : study::start_parents_of(trial.proposal)) study_.checkpoints.release(start->address);
}

void KeptStates::restore_ended() {
  const StudyView& view = study_.state.view;
  study_.checkpoints.hold(view.frozen);
  if (view.start_file) study_.checkpoints.hold(view.start_file->address);
  for (const TrialView& trial : view.trials) {
    if (!trial.outcome || !ranks(trial, *trial.outcome)) continue;
    const auto trainings = study::trainings_of(view, trial);
    const auto joint = study::joint_ranking_key(view.config, trainings);
    const bool done = study::trainings_done(view.config, study::training_counts_of(trainings));
    if (joint && joint->trial == trial.id) top_k_.add(*joint);
    if (done) continue;
    study_.checkpoints.hold(trial.outcome->weights);
    hold_start_states(trial.id);
  }
  for (const study::RankingKey& s : top_k_.best()) {
    for (const TrialView* each : study::fold_models_of(view, study_.state.trial(s.trial))) {
      study_.checkpoints.hold(each->outcome->weights);
      hold_start_states(each->id);
    }
  }
}

void KeptStates::restore_checkpoint(TrialId id) {
  OpenTrial& open = study_.state.open.at(id);
  if (open.checkpoint.empty()) return;
  const auto whole = study_.checkpoints.files().get(open.checkpoint);
  if (whole) return study_.checkpoints.hold(open.checkpoint);
  study_.event(Level::kWarning, "checkpoint_lost", {{"trial", id.value}, {"reason", whole.error().text()}});
  open.checkpoint.clear();
}

}  // namespace lanista::engine
