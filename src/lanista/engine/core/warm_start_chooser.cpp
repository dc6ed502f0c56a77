// Starts of trials that the engine chooses (`train.start`).
#include <algorithm>
#include <functional>
#include <utility>

#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/warm_start.h"

namespace lanista::engine {

// The nearest ancestor with a kept state.
Result<std::optional<study::Start>> StudyEngine::nearest_stored_ancestor(const study::Proposal& proposal) const {
  for (std::optional<TrialId> at = proposal.parent; at; at = state_.trial(*at).proposal.parent) {
    const TrialView& ancestor = state_.trial(*at);
    if (ancestor.measurements.empty()) continue;
    study::Start start{*at, ancestor.measurements.back().epoch, "", ""};
    LANISTA_ASSIGN(start.address, stored_state_address(start));
    if (!start.address.empty()) return std::optional(start);
  }
  return std::optional<study::Start>();
}

// The best trials have kept weights; the one that is most similar to the child.
Result<std::optional<study::Start>> StudyEngine::most_similar_stored(const graph::Graph& child) {
  zoo::Catalogue kept;
  double quality = 0;
  for (const study::RankingKey& standing : top_k_.best()) {
    const TrialView& trial = state_.trial(standing.trial);
    if (!checkpoint_refs_.has_reference(trial.outcome->weights)) continue;
    auto known = match_models_.find(trial.id);
    if (known == match_models_.end()) {
      LANISTA_ASSIGN(const BuiltModel built, build_model(trial.proposal));
      LANISTA_ASSIGN(zoo::MatchModel model, zoo::MatchModel::of(built.model, models_->ops()));
      known = match_models_.emplace(trial.id, std::move(model)).first;
    }
    LANISTA_TRY(kept.add({std::to_string(trial.id.value), "", quality, trial.id.value}, known->second));
    quality -= 1;
  }
  LANISTA_ASSIGN(const zoo::MatchModel model, zoo::MatchModel::of(child, models_->ops()));
  const auto offer = kept.best(model, "");
  if (!offer) return std::optional<study::Start>();
  const TrialView& best = state_.trial(TrialId{static_cast<std::uint32_t>(std::stoul(offer->entry.id))});
  return std::optional(study::Start{best.id, best.measurements.back().epoch, "", best.outcome->weights});
}

Result<std::optional<StudyEngine::StartOption>> StudyEngine::inheritance_option(TrialId id, study::Start start,
                                                                                const graph::Graph& model) const {
  LANISTA_ASSIGN(const graph::Graph parent, start_model(state_.view, start, models_->ops()));
  const std::uint64_t seed = trial_seed(state_.view.config, id);
  LANISTA_ASSIGN(Inheritance inheritance, best_inheritance(parent, model, seed, models_->frozen(), models_->ops()));
  if (start.is_file()) {
    LANISTA_ASSIGN(inheritance,
                   match_classes(std::move(inheritance), labels_of(state_.view, start), parent, model, models_->ops()));
  }
  if (!inheritance.is_useful()) return std::optional<StartOption>();
  return std::optional(StartOption{std::move(start), std::move(inheritance)});
}

Result<std::vector<StudyEngine::StartOption>> StudyEngine::start_options_in_study(TrialId id,
                                                                                  const study::Proposal& proposal,
                                                                                  const graph::Graph& model, bool all) {
  const std::string& wanted = state_.view.config.train.start;
  std::vector<study::Start> starts;
  if (wanted == study::kStartFile && state_.view.start_file) {
    starts.push_back({{}, 0, "", state_.view.start_file->address, true});
  } else {
    LANISTA_ASSIGN(const auto ancestor, nearest_stored_ancestor(proposal));
    if (ancestor) starts.push_back(*ancestor);
  }
  if ((starts.empty() || all) && (wanted == study::kStartStudy || wanted == study::kStartZoo)) {
    LANISTA_ASSIGN(const auto relative, most_similar_stored(model));
    if (relative && (starts.empty() || starts.front().parent != relative->parent)) starts.push_back(*relative);
  }
  std::vector<StartOption> out;
  for (study::Start& start : starts) {
    LANISTA_ASSIGN(auto found, inheritance_option(id, std::move(start), model));
    if (found) out.push_back(*std::move(found));
  }
  return out;
}

std::int64_t StudyEngine::race_steps(const study::Proposal& proposal) const {
  const std::int64_t wanted = state_.view.config.train.start_race;
  if (wanted == 0) return 0;
  const study::EpochSchedule epochs = epoch_schedule_of(state_.view.config, data_of(proposal), proposal.sample);
  return std::min(wanted,
                  epochs.steps_through(1) - 1);  // the last step of an epoch belongs to the trial, for its measurement
}

Result<std::optional<study::ZooModel>> StudyEngine::choose_start(TrialId id, study::Proposal& proposal,
                                                                 const graph::Graph& model) {
  std::optional<study::ZooModel> of_zoo;
  if (state_.view.config.train.start == study::kStartOff || proposal.start) return of_zoo;
  const std::int64_t steps = race_steps(proposal);
  LANISTA_ASSIGN(std::vector<StartOption> found, start_options_in_study(id, proposal, model, steps > 0));
  LANISTA_ASSIGN(std::optional<ZooStartOption> in_zoo,
                 zoo_start(id, model, found.empty() || steps > 0 ? nullptr : &found.front()));
  if (in_zoo) {
    if (steps == 0) found.clear();  // it is more useful
    found.push_back(std::move(in_zoo->found));
    of_zoo = std::move(in_zoo->model);
  }
  if (found.empty()) return of_zoo;
  if (steps > 0)
    std::ranges::stable_sort(found, std::greater(),
                             [](const StartOption& one) { return one.inheritance.usefulness(); });
  found.resize(std::min(found.size(), static_cast<std::size_t>(steps > 0 ? study::kMaxRaceParents : 1)));
  std::vector<study::Start> starts;
  for (StartOption& each : found) {
    study::Start& start = starts.emplace_back(std::move(each.start));
    start.plan = std::move(each.inheritance.plan_text);
    start.is_chosen_by_engine = true;
    start.coverage = each.inheritance.coverage;
    if (state_.view.config.train.start_optimizer == study::kCarryOptimizer) {
      start.optimizer = optimizer_transfer(state_.view, start, each.inheritance.plan, proposal.sample);
    }
    start.inexact_reason = std::move(each.inheritance.plan.inexact_reason);
  }
  const bool takes_zoo = std::ranges::any_of(starts, [](const study::Start& start) { return !start.zoo.empty(); });
  if (!takes_zoo) of_zoo.reset();
  if (steps > 0) proposal.race = study::StartRace{steps, 0, {starts.begin() + 1, starts.end()}};
  proposal.start = std::move(starts.front());
  return of_zoo;
}

}  // namespace lanista::engine
