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

Result<void> StudyEngine::choose_start(TrialId id, study::Proposal& proposal, const graph::Graph& model) {
  const std::string& wanted = state_.view.config.train.start;
  const bool of_file = wanted == study::kStartFile && state_.view.start_file;
  if (wanted == study::kStartOff || proposal.start) return {};
  std::optional<study::Start> start;
  if (of_file) {
    start = study::Start{{}, 0, "", state_.view.start_file->address, true};
  } else {
    LANISTA_ASSIGN(start, kept_ancestor(proposal));
  }
  if (!start && wanted == study::kStartStudy) {
    LANISTA_ASSIGN(start, kept_relative(model));
  }
  if (!start) return {};
  LANISTA_ASSIGN(const graph::Graph parent, start_model(state_.view, *start, models_->ops()));
  const std::uint64_t seed = trial_seed(state_.view.config, id);
  LANISTA_ASSIGN(Inheritance taken, inherit_best(parent, model, seed, models_->frozen(), models_->ops()));
  if (start->is_file()) {
    LANISTA_ASSIGN(taken,
                   with_classes(std::move(taken), labels_of(state_.view, *start), parent, model, models_->ops()));
  }
  if (!taken.is_worth_it()) return {};
  start->plan = std::move(taken.word);
  start->chosen = true;
  start->coverage = taken.coverage;
  start->lost = std::move(taken.plan.lost);
  proposal.start = std::move(start);
  return {};
}

}  // namespace lanista::engine
