#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// A branch of a run in a lane. It continues from the run's state under another setting, or from other weights.
struct BranchLane {
  TrialRun* run;
  std::vector<double> losses;  ///< mean loss over the rows of each step; steps of one update share a value
  std::string failure;         ///< reason why it stopped early; empty: none
};

/// Trains all branches together until each has the losses of `steps` steps, or failed. The last update may exceed them.
///
/// Returns false if `should_stop`, which is called between steps, returns true.
bool train_branches(LaneGroup& group, std::span<BranchLane> lanes, std::int64_t steps,
                    const std::function<bool()>& should_stop);

}  // namespace lanista::train
