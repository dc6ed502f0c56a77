#pragma once

#include <string>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// The final of a search's trial: the same model and sample, trained to the end of the schedule from the beginning.
Proposal refinement_of(TrialId trial, const Proposal& proposal);

/// A proposal's own numbers: those of its sample (make_recipe). A final tunes itself by strategy.then in place of
/// train.tune; where that changes the rate, the rate is constant but for it, without warm-up. Errors: make_recipe's;
/// kDataLoss (a final of a study without that stage).
Result<Recipe> recipe_of(const StudyConfig& config, const std::string& loss, const Proposal& proposal);

}  // namespace lanista::study
