#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// True if the run has a start race and has done neither the race nor a step. race_starts() ends it.
bool is_start_race_due(const TrialRun& run);

/// Runs the start race of an admitted run.
///
/// Its start and the alternatives, which may be random values, train for race_steps on the same mini-batches. The run
/// continues from the candidate with the least mean loss over the later half, the first of equal ones. The winner has
/// the bits of a trial with that start and no race. If all candidates diverge, the run stays at its beginning.
///
/// The result depends on the run's input only. Returns true if the race was run, and false if `should_stop`, called
/// between steps, returned true. Then, and after an error, the run is unchanged. Errors: kFailedPrecondition (the run
/// is not admitted), kResourceExhausted, kInvalidArgument (alternative weights do not fit). Source: the guard against
/// negative transfer of ModelKeeper, with the branches of MLtuner.
Result<bool> race_starts(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop);

}  // namespace lanista::train
