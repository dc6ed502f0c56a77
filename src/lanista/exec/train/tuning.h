#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {

/// Returns the proposer of settings for a search of this run, from its seeds and the settings tried before.
using MakeSearcher = std::function<Result<study::ProposeSetting>(const TrialRun& run)>;

/// Runs the tune search of an admitted run, if due (TrialRun::is_search_due).
///
/// Branches of the run train from its state in the lanes of `group`, and the run continues from the best one under its
/// setting. The branches run to the last step but one of the epoch; the run trains and measures the last.
///
/// The result depends on the run's input only. Returns false if `should_stop`, called between steps, returns true.
/// Then, and after an error, the run is unchanged. Errors: kResourceExhausted, those of `make`.
Result<bool> search_setting(LaneGroup& group, TrialRun& run, const MakeSearcher& make,
                            const std::function<bool()>& should_stop);

}  // namespace lanista::train
