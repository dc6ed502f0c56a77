// What a trial begins with, where the study file leaves that to the engine (`train.start`).
#include <utility>

#include "lanista/engine/assembly.h"
#include "lanista/engine/study_engine.h"
#include "lanista/engine/warm_start.h"

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

Result<std::optional<StudyEngine::Found>> StudyEngine::own_start(TrialId id, const study::Proposal& proposal,
                                                                 const graph::Graph& model) {
  const std::string& wanted = state_.view.config.train.start;
  std::optional<study::Start> start;
  if (wanted == study::kStartFile && state_.view.start_file) {
    start = study::Start{{}, 0, "", state_.view.start_file->address, true};
  } else {
    LANISTA_ASSIGN(start, kept_ancestor(proposal));
  }
  if (!start && (wanted == study::kStartStudy || wanted == study::kStartZoo)) {
    LANISTA_ASSIGN(start, kept_relative(model));
  }
  if (!start) return std::optional<Found>();
  LANISTA_ASSIGN(const graph::Graph parent, start_model(state_.view, *start, models_->ops()));
  const std::uint64_t seed = trial_seed(state_.view.config, id);
  LANISTA_ASSIGN(Inheritance taken, inherit_best(parent, model, seed, models_->frozen(), models_->ops()));
  if (start->is_file()) {
    LANISTA_ASSIGN(taken,
                   with_classes(std::move(taken), labels_of(state_.view, *start), parent, model, models_->ops()));
  }
  if (!taken.is_worth_it()) return std::optional<Found>();
  return std::optional(Found{*std::move(start), std::move(taken)});
}

Result<std::optional<study::ZooModel>> StudyEngine::choose_start(TrialId id, study::Proposal& proposal,
                                                                 const graph::Graph& model) {
  std::optional<study::ZooModel> of_zoo;
  if (state_.view.config.train.start == study::kStartOff || proposal.start) return of_zoo;
  LANISTA_ASSIGN(std::optional<Found> found, own_start(id, proposal, model));
  LANISTA_ASSIGN(std::optional<FoundInZoo> better, zoo_start(id, model, found));
  if (better) found = std::move(better->found), of_zoo = std::move(better->model);
  if (!found) return of_zoo;
  found->start.plan = std::move(found->taken.word);
  found->start.chosen = true;
  found->start.coverage = found->taken.coverage;
  found->start.lost = std::move(found->taken.plan.lost);
  proposal.start = std::move(found->start);
  return of_zoo;
}

}  // namespace lanista::engine
