#include "lanista/engine/core/warm_start_chooser.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "lanista/engine/core/trial_cost.h"

namespace lanista::engine {

// The nearest ancestor with a kept state.
Result<std::optional<study::Start>> WarmStartChooser::nearest_stored_ancestor(const study::Proposal& proposal) const {
  for (std::optional<TrialId> at = proposal.parent; at; at = study_.state.trial(*at).proposal.parent) {
    const TrialView& ancestor = study_.state.trial(*at);
    if (ancestor.measurements.empty()) continue;
    study::Start start{*at, ancestor.measurements.back().epoch, "", ""};
    LANISTA_ASSIGN(start.address, kept_.address_of(start));
    if (!start.address.empty()) return std::optional(start);
  }
  return std::optional<study::Start>();
}

// The best trials have kept weights; the one that is most similar to the child.
Result<std::optional<study::Start>> WarmStartChooser::most_similar_stored(const graph::Graph& child) {
  zoo::Catalogue kept;
  double quality = 0;
  for (const study::RankingKey& standing : kept_.best()) {
    const TrialView& trial = study_.state.trial(standing.trial);
    if (!study_.checkpoints.has_reference(trial.outcome->weights)) continue;
    auto known = match_models_.find(trial.id);
    if (known == match_models_.end()) {
      LANISTA_ASSIGN(const BuiltModel built, study_.models.build(trial.proposal));
      LANISTA_ASSIGN(zoo::MatchModel model, zoo::MatchModel::of(built.model, study_.models.ops()));
      known = match_models_.emplace(trial.id, std::move(model)).first;
    }
    LANISTA_TRY(kept.add({std::to_string(trial.id.value), "", quality, trial.id.value}, known->second));
    quality -= 1;
  }
  LANISTA_ASSIGN(const zoo::MatchModel model, zoo::MatchModel::of(child, study_.models.ops()));
  const auto offer = kept.best(model, "");
  if (!offer) return std::optional<study::Start>();
  const TrialView& best = study_.state.trial(TrialId{static_cast<std::uint32_t>(std::stoul(offer->entry.id))});
  return std::optional(study::Start{best.id, best.measurements.back().epoch, "", best.outcome->weights});
}

Result<std::optional<StartOption>> WarmStartChooser::inheritance_option(TrialId id, study::Start start,
                                                                        const graph::Graph& model) const {
  LANISTA_ASSIGN(const graph::Graph parent, start_model(study_.state.view, start, study_.models.ops()));
  const std::uint64_t seed = trial_seed(study_.state.view.config, id);
  LANISTA_ASSIGN(Inheritance inheritance,
                 best_inheritance(parent, model, seed, study_.models.space().frozen(), study_.models.ops()));
  if (start.is_file()) {
    LANISTA_ASSIGN(inheritance, match_classes(std::move(inheritance), labels_of(study_.state.view, start), parent,
                                              model, study_.models.ops()));
  }
  if (!inheritance.is_useful()) return std::optional<StartOption>();
  return std::optional(StartOption{std::move(start), std::move(inheritance)});
}

Result<std::optional<StartOption>> WarmStartChooser::start_option_in_study(TrialId id, const study::Proposal& proposal,
                                                                           const graph::Graph& model) {
  const std::string& wanted = study_.state.view.config.train.start.from;
  std::optional<study::Start> start;
  if (wanted == study::kStartFile && study_.state.view.start_file) {
    start = study::Start{{}, 0, "", study_.state.view.start_file->address, true};
  } else {
    LANISTA_ASSIGN(start, nearest_stored_ancestor(proposal));
  }
  if (!start && (wanted == study::kStartStudy || wanted == study::kStartZoo)) {
    LANISTA_ASSIGN(start, most_similar_stored(model));
  }
  if (!start) return std::optional<StartOption>();
  return inheritance_option(id, *std::move(start), model);
}

study::Start WarmStartChooser::recorded_start(StartOption option, const space::Sample& sample) const {
  study::Start start = std::move(option.start);
  start.plan = std::move(option.inheritance.plan_text);
  start.is_chosen_by_engine = true;
  start.coverage = option.inheritance.coverage;
  if (study_.state.view.config.train.start.optimizer == study::kCarryOptimizer) {
    start.optimizer = optimizer_transfer(study_.state.view, start, option.inheritance.plan, sample);
  }
  start.inexact_reason = std::move(option.inheritance.plan.inexact_reason);
  return start;
}

Result<std::optional<study::ZooModel>> WarmStartChooser::choose_start(TrialId id, study::Proposal& proposal,
                                                                      const graph::Graph& model) {
  std::optional<study::ZooModel> of_zoo;
  if (study_.state.view.config.train.start.from == study::kStartOff || proposal.start) return of_zoo;
  LANISTA_ASSIGN(std::optional<StartOption> found, start_option_in_study(id, proposal, model));
  LANISTA_ASSIGN(std::optional<ZooStartOption> in_zoo, zoo_.find_start(id, model, found ? &*found : nullptr));
  if (in_zoo) {
    found = std::move(in_zoo->found);  // it is more useful
    of_zoo = std::move(in_zoo->model);
  }
  if (found) proposal.start = recorded_start(*std::move(found), proposal.sample);
  return of_zoo;
}

}  // namespace lanista::engine
