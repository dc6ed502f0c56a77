#pragma once

#include <string>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Returns the proposal that refines `trial`, which has the decisions `proposal`: the same model and sample, trained
/// from the start to the end of the schedule. `trial` becomes its parent. A start that the engine chose and its race
/// are removed, so the engine chooses again; a start that the strategy chose stays.
Proposal refinement_of(TrialId trial, const Proposal& proposal);

/// Returns the recipe of a proposal: that of its sample (make_recipe). A refinement has the tuning of strategy.then in
/// place of train.tune. If that changes the learning rate, the schedule is constant, without warm-up. Errors: those of
/// make_recipe (kInvalidArgument); kDataLoss (a refinement in a study without a second stage).
Result<Recipe> recipe_of(const StudyConfig& config, const std::string& loss, const Proposal& proposal);

}  // namespace lanista::study
