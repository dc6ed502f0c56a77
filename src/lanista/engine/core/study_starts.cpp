// What a trial begins with, where the study file leaves that to the engine (`train.start`).
#include <algorithm>
#include <functional>
#include <utility>

#include "lanista/engine/core/assembly.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/warm_start.h"

namespace lanista::engine {

// The nearest ancestor of which something is kept.
Result<std::optional<study::Start>> StudyEngine::kept_ancestor(const study::Proposal& proposal) const {
  for (std::optional<TrialId> at = proposal.parent; at; at = state_.trial(*at).proposal.parent) {
    const TrialView& ancestor = state_.trial(*at);
    if (ancestor.measurements.empty()) continue;
    study::Start start{*at, ancestor.measurements.back().epoch, "", ""};
    LANISTA_ASSIGN(start.address, kept_state(start));
    if (!start.address.empty()) return std::optional(start);
  }
  return std::optional<study::Start>();
}

// Of the study's best, whose weights are kept, the one most like the child.
Result<std::optional<study::Start>> StudyEngine::kept_relative(const graph::Graph& child) {
  zoo::Catalogue kept;
  double quality = 0;
  for (const study::Standing& standing : podium_.best()) {
    const TrialView& trial = state_.trial(standing.trial);
    if (!shelf_.holds(trial.outcome->weights)) continue;
    auto known = kept_models_.find(trial.id);
    if (known == kept_models_.end()) {
      LANISTA_ASSIGN(const Costed built, build(trial.proposal));
      LANISTA_ASSIGN(zoo::MatchModel model, zoo::MatchModel::of(built.model, models_->ops()));
      known = kept_models_.emplace(trial.id, std::move(model)).first;
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

Result<std::optional<StudyEngine::Found>> StudyEngine::inherited(TrialId id, study::Start start,
                                                                 const graph::Graph& model) const {
  LANISTA_ASSIGN(const graph::Graph parent, start_model(state_.view, start, models_->ops()));
  const std::uint64_t seed = trial_seed(state_.view.config, id);
  LANISTA_ASSIGN(Inheritance taken, inherit_best(parent, model, seed, models_->frozen(), models_->ops()));
  if (start.is_file()) {
    LANISTA_ASSIGN(taken, with_classes(std::move(taken), labels_of(state_.view, start), parent, model, models_->ops()));
  }
  if (!taken.is_worth_it()) return std::optional<Found>();
  return std::optional(Found{std::move(start), std::move(taken)});
}

Result<std::vector<StudyEngine::Found>> StudyEngine::own_starts(TrialId id, const study::Proposal& proposal,
                                                                const graph::Graph& model, bool all) {
  const std::string& wanted = state_.view.config.train.start;
  std::vector<study::Start> starts;
  if (wanted == study::kStartFile && state_.view.start_file) {
    starts.push_back({{}, 0, "", state_.view.start_file->address, true});
  } else {
    LANISTA_ASSIGN(const auto ancestor, kept_ancestor(proposal));
    if (ancestor) starts.push_back(*ancestor);
  }
  if ((starts.empty() || all) && (wanted == study::kStartStudy || wanted == study::kStartZoo)) {
    LANISTA_ASSIGN(const auto relative, kept_relative(model));
    if (relative && (starts.empty() || starts.front().parent != relative->parent)) starts.push_back(*relative);
  }
  std::vector<Found> out;
  for (study::Start& start : starts) {
    LANISTA_ASSIGN(auto found, inherited(id, std::move(start), model));
    if (found) out.push_back(*std::move(found));
  }
  return out;
}

std::int64_t StudyEngine::race_steps(const study::Proposal& proposal) const {
  const std::int64_t wanted = state_.view.config.train.start_race;
  if (wanted == 0) return 0;
  const study::Epochs epochs = epochs_of(state_.view.config, data_of(proposal), proposal.sample);
  return std::min(wanted, epochs.through(1) - 1);  // the last one of an epoch is the trial's own, to be measured
}

Result<std::optional<study::ZooModel>> StudyEngine::choose_start(TrialId id, study::Proposal& proposal,
                                                                 const graph::Graph& model) {
  std::optional<study::ZooModel> of_zoo;
  if (state_.view.config.train.start == study::kStartOff || proposal.start) return of_zoo;
  const std::int64_t steps = race_steps(proposal);
  LANISTA_ASSIGN(std::vector<Found> found, own_starts(id, proposal, model, steps > 0));
  LANISTA_ASSIGN(std::optional<FoundInZoo> in_zoo,
                 zoo_start(id, model, found.empty() || steps > 0 ? nullptr : &found.front()));
  if (in_zoo) {
    if (steps == 0) found.clear();  // it gives more
    found.push_back(std::move(in_zoo->found));
    of_zoo = std::move(in_zoo->model);
  }
  if (found.empty()) return of_zoo;
  if (steps > 0) std::ranges::stable_sort(found, std::greater(), [](const Found& one) { return one.taken.worth(); });
  found.resize(std::min(found.size(), static_cast<std::size_t>(steps > 0 ? study::kRacingParents : 1)));
  std::vector<study::Start> starts;
  for (Found& each : found) {
    study::Start& start = starts.emplace_back(std::move(each.start));
    start.plan = std::move(each.taken.word);
    start.chosen = true;
    start.coverage = each.taken.coverage;
    if (state_.view.config.train.start_optimizer == study::kCarryOptimizer) {
      start.optimizer = carried_or_why(state_.view, start, each.taken.plan, proposal.sample);
    }
    start.lost = std::move(each.taken.plan.lost);
  }
  const bool takes_zoo = std::ranges::any_of(starts, [](const study::Start& start) { return !start.zoo.empty(); });
  if (!takes_zoo) of_zoo.reset();
  if (steps > 0) proposal.race = study::StartRace{steps, 0, {starts.begin() + 1, starts.end()}};
  proposal.start = std::move(starts.front());
  return of_zoo;
}

}  // namespace lanista::engine
