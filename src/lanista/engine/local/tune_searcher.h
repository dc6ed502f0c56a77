#pragma once

#include "lanista/base/result.h"
#include "lanista/search/tuning/tuner.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::runtime {

/// What proposes the settings of a search that a run begins: one of the study's samplers, or marginal, over
/// train.tune's params; in a later search that races (halving) the setting at hand comes first. Not before that does
/// one that races propose a batch size, where there is something else to tune: at its beginning a training's gradients
/// are large against their noise, and a few steps cannot show what a larger batch is good for. It draws by the trial's
/// seed and the number of searches before; what it is told of a try is its speed. Errors: kInvalidArgument
/// (train.tune's options).
Result<study::ProposeSetting> make_tune_searcher(const train::TrialRun& run);

}  // namespace lanista::runtime
