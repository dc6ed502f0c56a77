#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// What it costs to go on from another trial's state, for models on the digits whose states are small, middling and
/// large. Arms, microseconds: `copy` (memcpy of the state's bytes between two buffers: the memory's bandwidth),
/// `branch` (a branch in memory, dropped again, state and bookkeeping: TrialRun::branch), `park` (a state into a
/// checkpoint and out of it as another trial's, which is what a fork of paused trials does), `step` (a training step).
/// Ratios behind them: `branch/copy`, and the per cent of its steps' time that a branch, or a park, is of an epoch
/// between forks. Errors: those of train::TrialRun.
Result<void> fork(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
