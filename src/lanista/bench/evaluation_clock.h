#pragma once

#include "lanista/train/lane_group.h"

namespace lanista::bench {

/// Seconds of an evaluation of this run on the validation part, the median of five. The last update of an epoch
/// measures, too: who times training takes that off.
double evaluation_seconds(train::LaneGroup& group, train::TrialRun& run);

}  // namespace lanista::bench
