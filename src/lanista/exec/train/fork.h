#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// Returns the state of another trial at the end of an epoch as the state of a trial that forks from it (study::Fork).
///
/// `trial_seed` and `measurements` are those of the fork, and replace those of `other`. All else stays: parameters,
/// buffers, slots, counters, data position and the memory of the example selection. TrialRun::restore reports what does
/// not fit.
TrainerState forked_state(TrainerState other, std::uint64_t trial_seed,
                          const std::vector<study::Measurement>& measurements);

/// Returns the state from which a trial that forked from trial `from` resumes. If the measurements in `state` are those
/// of `from`, it is forked_state(); else `state` is the trial's own and is returned unchanged. Errors: kDataLoss (the
/// measurements are missing or malformed).
Result<TrainerState> own_or_forked_state(TrainerState state, TrialId from, std::uint64_t trial_seed,
                                         const std::vector<study::Measurement>& measurements);

}  // namespace lanista::train
