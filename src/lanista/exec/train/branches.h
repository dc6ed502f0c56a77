#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// A branch of a run, for training in a lane. It continues from the run's state under another setting, or from other
/// weights.
struct BranchLane {
  TrialRun* run;  ///< The branch, admitted to the group; not owned.
  /// Mean loss over the rows of each step so far, in order; steps of one update share a value.
  std::vector<double> losses;
  std::string failure;  ///< Reason for people why the branch stopped early; empty: it did not.
};

/// Trains all branches together until each has `steps` losses, or failed. The last update may exceed that number.
///
/// There are at most as many branches as lanes. Returns true at the end, and false if `should_stop`, which is called
/// between updates, returns true.
bool train_branches(LaneGroup& group, std::span<BranchLane> lanes, std::int64_t steps,
                    const std::function<bool()>& should_stop);

}  // namespace lanista::train
