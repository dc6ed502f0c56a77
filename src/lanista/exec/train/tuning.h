#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/search/tuning/tuner.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// The settings that a search of this run tries, of its seeds and of what was tried alone.
using MakeSearcher = std::function<Result<study::ProposeSetting>(const TrialRun& run)>;

/// Searches for the setting under which a run goes on that wants it (TrialRun::is_search_due): branches of it train from
/// its state in the lanes of `group`, which has its key and has admitted it, and it goes on from the best of them. They
/// run as far as its epoch but for its last step, which is the run's own to measure. What comes of it is a function of
/// the run's input alone: neither the group's lanes nor where its states sit enter. False: `should_stop` said so between
/// steps; the run is as before then, and so it is where there is an error: kResourceExhausted, those of `make`.
Result<bool> search_setting(LaneGroup& group, TrialRun& run, const MakeSearcher& make,
                            const std::function<bool()>& should_stop);

}  // namespace lanista::train
