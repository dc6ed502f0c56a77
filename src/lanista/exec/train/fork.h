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
/// `trial_seed` and `measurements` are those of the fork, and replace those of `other`; the epoch number is that of the
/// measurements. Parameters, buffers, slots, steps, data position and the memory of the example selection stay. The
/// weights of a selected earlier epoch (TrainerState::kept) are removed. TrialRun::restore reports what does not fit.
TrainerState forked_state(TrainerState other, std::uint64_t trial_seed,
                          const std::vector<study::Measurement>& measurements);

/// Returns the state from which a trial that forked from trial `from` resumes. If the first measurement in `state` is
/// of `from`, it is forked_state(); else, also without measurements, `state` is returned unchanged. Errors: kDataLoss
/// (the list of measurements is missing or malformed).
Result<TrainerState> own_or_forked_state(TrainerState state, TrialId from, std::uint64_t trial_seed,
                                         const std::vector<study::Measurement>& measurements);

}  // namespace lanista::train
