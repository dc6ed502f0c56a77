#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// What it costs to go on from another trial's state, for models on the digits whose states are small, middling and
/// large. Arms, microseconds: `copy` (memcpy of the state's bytes between two buffers: the memory's bandwidth),
/// `state` (a state like it, that shares its bytes) and `state-written` (the same with the copy of the first update),
/// `fork` (a trial that tunes itself once more, under another setting, dropped again: BranchPoint::fork), `branch` (the
/// same as another trial, that does not: TrialRun::branch), `park` (a state into a
/// checkpoint and out of it as another trial's, which is what a fork of paused trials does), `step` (a training step).
/// Ratios behind them: by `copy`, and the per cent of its steps' time that a fork, a branch, or a park is of an epoch
/// between forks. Errors: those of train::TrialRun.
Result<void> fork(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
