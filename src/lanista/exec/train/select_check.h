#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// Has an admitted run that wants it (TrialRun::is_select_check_due) learn whether chosen examples are worth more than
/// all: two branches of it train, at equal computation by its guard, on the same batches as far as both read them, and
/// are measured on the validation part. It goes on from the one that selects where its metric is better, else from the
/// one on all examples; both have the bits of a trial that always trained so. They run as far as its epoch but for its
/// last step, which is the run's own to measure; of an epoch of one step nothing comes. What comes of it is a function
/// of the run's input alone. False: `should_stop` said so between steps; the run is as before then, and so it is where there
/// is an error: kResourceExhausted, kInvalidArgument (the metric is not measured). (The guard of modelkeeper's
/// Selective-Backprop, §6.5, on MLtuner's branches.)
Result<bool> run_select_check(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop);

}  // namespace lanista::train
