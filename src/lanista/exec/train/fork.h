#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// Returns a trial's state at the end of an epoch as the state of a trial that forks from it (study::Fork).
///
/// Seed and measurements are those of the fork. All else stays: parameters, buffers, slots, counters, data position and
/// the selection's memory. TrialRun::restore reports what does not fit.
TrainerState forked_state(TrainerState other, std::uint64_t trial_seed,
                          const std::vector<study::Measurement>& measurements);

/// Returns the state from which a trial that forked from `from` resumes: its own state unchanged, or the other trial's
/// state, forked. The state's measurements show which one it is. Errors: kDataLoss.
Result<TrainerState> own_or_forked_state(TrainerState state, TrialId from, std::uint64_t trial_seed,
                                         const std::vector<study::Measurement>& measurements);

}  // namespace lanista::train
