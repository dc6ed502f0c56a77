#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {

/// Returns the function that proposes settings for a tune search of `run`, from the run's seeds and the settings tried
/// before.
using MakeSearcher = std::function<Result<study::ProposeSetting>(const TrialRun& run)>;

/// True if a tune search (train.tune) must run before the next step: an epoch begins, and the rules require it.
/// search_setting() ends it.
bool is_search_due(const TrialRun& run);

/// The number of tune searches that a trial has ended, and the number of settings that the last one tried.
struct PastSearches {
  std::int64_t count = 0;       ///< Number of tune searches so far.
  std::int64_t last_tries = 0;  ///< Number of settings that the last one tried; 0 without one.
};
/// Returns the counts over the tune searches in the measurements of a trial. Searches without branches do not count.
PastSearches past_searches(std::span<const study::Measurement> measurements);

/// Runs the tune search of an admitted run. Requires is_search_due(run).
///
/// Branches of the run train from its state in the lanes of `group`, and the run continues from the best one under its
/// setting; without a best one, from its own state. The branches run at most to the last step but one of the epoch; the
/// run trains and measures the last. If the epoch has too few steps, the search ends without branches.
///
/// The result depends on the run's input only. Returns true if the search ended, and false if `should_stop`, called
/// between steps, returned true. Then, and after an error, the run is unchanged. Errors: kResourceExhausted,
/// kFailedPrecondition (the run is not admitted), kInvalidArgument (a proposed setting is invalid), those of `make`.
Result<bool> search_setting(LaneGroup& group, TrialRun& run, const MakeSearcher& make,
                            const std::function<bool()>& should_stop);

}  // namespace lanista::train
