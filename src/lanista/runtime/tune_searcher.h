#pragma once

#include "lanista/base/result.h"
#include "lanista/study/tuner.h"
#include "lanista/train/trial_run.h"

namespace lanista::runtime {

/// What proposes the settings of a search that a run begins: one of the study's samplers, or marginal, over
/// train.tune's params; in a later search that races (halving) the setting at hand comes first. It draws by the trial's
/// seed and the number of searches before; what it is told of a try is its speed. Errors: kInvalidArgument
/// (train.tune's options).
Result<study::ProposeSetting> make_tune_searcher(const train::TrialRun& run);

}  // namespace lanista::runtime
