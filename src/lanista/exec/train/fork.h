#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/search/study/trial.h"
#include "lanista/exec/train/start_weights.h"

namespace lanista::train {

/// The state of another trial at the end of an epoch as the state of the trial that forks from it (study::Fork): with
/// its own seed and its own measurements so far; everything else (parameters, buffers, slots, counters, place in the
/// data, what a selection remembers) stays. TrialRun::restore says what of it does not fit.
TrainerState forked_state(TrainerState other, std::uint64_t trial_seed,
                          const std::vector<study::Measurement>& measurements);

/// What a trial that forked from `from` goes on from: a state of its own as it is, or the other's, forked. Whose it is
/// the state's measurements tell. Errors: kDataLoss.
Result<TrainerState> own_or_forked_state(TrainerState state, TrialId from, std::uint64_t trial_seed,
                                   const std::vector<study::Measurement>& measurements);

}  // namespace lanista::train
