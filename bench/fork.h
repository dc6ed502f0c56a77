#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `fork`: the time to continue from the state of another trial.
///
/// Three models on the digits have states of different size. The values are microseconds. The arms are:
/// - copy: memcpy of the bytes of a state between two buffers
/// - state: a new state that shares the bytes
/// - state-written: the same with the copy that its first update makes
/// - fork: a copy of a self-tuning trial with another setting (BranchPoint::fork)
/// - park: a state is stored in a checkpoint and restored for another trial, as in a fork of paused trials
/// - step: one training step
///
/// Further rows are ratios: to `copy`, and the percentage of the time of an epoch's steps that a fork or a park
/// needs. Errors: those of train::TrialRun.
Result<void> fork(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
