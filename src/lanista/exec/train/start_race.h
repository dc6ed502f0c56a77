#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// The race of an admitted run that wants one: what it starts with, its rivals and random values are trained for its
/// race_steps on the same mini-batches, and it goes on from the one whose mean loss over the later half of them is the
/// least, of equal ones the first. What came of it is a function of the run's input alone: neither the group's lanes
/// nor where states sit enter, and the winner has the bits of a trial that began so without a race. Where all come to
/// no number the run stays at its beginning. False: `should_stop` said so between steps; the run is as before then, and so
/// it is where there is an error: those of TrialRun::racer and of LaneGroup::admit. (ModelKeeper's guard against
/// negative transfer; MLtuner's branches.)
Result<bool> race_starts(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop);

}  // namespace lanista::train
