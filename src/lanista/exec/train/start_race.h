#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// Whether a start race of the run is due: it has one, and it has done no step. race_starts() ends it.
bool is_start_race_due(const TrialRun& run);

/// Runs the start race of an admitted run.
///
/// Its start, the alternatives and random values train for race_steps on the same mini-batches. The run continues from
/// the candidate with the least mean loss over the later half, the first of equal ones. The winner has the bits of a
/// trial with that start and no race. If all candidates diverge, the run stays at its beginning.
///
/// The result depends on the run's input only. Returns false if `should_stop`, called between steps, returns true.
/// Then, and after an error, the run is unchanged. Errors: those of BranchPoint::start_candidate and of
/// LaneGroup::admit. Source: the guard against negative transfer of ModelKeeper, with the branches of MLtuner.
Result<bool> race_starts(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop);

}  // namespace lanista::train
