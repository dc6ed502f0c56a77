#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// A branch of a run in a lane: it goes on from where the run stands, under another setting or from other weights.
struct BranchLane {
  TrialRun* run;
  std::vector<double>
      losses;  ///< mean over the rows of each of its steps; of an update that is several, of all its rows
  std::string failure;         ///< why it did no more of them; empty: it did them all
};

/// Trains these until each has the losses of so many steps, or more where its last update was several, side by side;
/// but for that they stand at the same place of the data. False: `should_stop` said so between steps.
bool train_branches(LaneGroup& group, std::span<BranchLane> lanes, std::int64_t steps,
                    const std::function<bool()>& should_stop);

}  // namespace lanista::train
