#include "lanista/search/study/refinements.h"

#include "lanista/search/tuning/tuner.h"

namespace lanista::study {

Proposal refinement_of(TrialId trial, const Proposal& proposal) {
  Proposal out = proposal;
  out.budget = full_epochs(proposal);
  out.horizon = 0;
  out.parent = trial;
  out.repeat = 0;
  out.is_refinement = true;
  // The engine chooses a start for the refinement, too.
  if (proposed_start(proposal) == nullptr) out.start.reset();
  out.race.reset();
  return out;
}

Result<Recipe> recipe_of(const StudyConfig& config, const std::string& loss, const Proposal& proposal) {
  LANISTA_ASSIGN(Recipe recipe, make_recipe(config, loss, proposal.sample));
  if (!proposal.is_refinement) return recipe;
  if (!config.strategy.then) {
    return Error{Code::kDataLoss, "a refinement in a study without a second stage", std::string(kThenKey)};
  }
  recipe.tune = config.strategy.then->tune;
  if (!tunes_rate(recipe.tune)) return recipe;
  recipe.schedule = "constant";
  recipe.warmup_epochs = 0;
  return recipe;
}

}  // namespace lanista::study
