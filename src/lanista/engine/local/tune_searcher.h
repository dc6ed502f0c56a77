#pragma once

#include "lanista/base/result.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::runtime {

/// Makes the function that proposes settings for the tune search that `run` begins. It is a sampler of the study's
/// kind over the parameters of train.tune. Its random numbers follow from the trial's seed and the number of earlier
/// searches. A setting is rated by the speed of its branch.
///
/// From the second search on, the first proposals are the current setting, and then the same with every other batch
/// size; with a `reach` the space is narrowed around the current setting. In the first search the batch size is fixed
/// if other parameters are tuned. Gradients are then large against their noise, and a few steps cannot show the value
/// of a larger batch. Errors: kInvalidArgument (options of train.tune).
Result<study::ProposeSetting> make_tune_searcher(const train::TrialRun& run);

}  // namespace lanista::runtime
