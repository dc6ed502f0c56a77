#include "lanista/exec/train/branches.h"

#include <algorithm>

namespace lanista::train {

bool train_branches(LaneGroup& group, std::span<BranchLane> lanes, std::int64_t steps,
                    const std::function<bool()>& should_stop) {
  while (true) {
    // The branches with the fewest steps are next: an update of a larger batch is several steps.
    auto fewest_steps = static_cast<std::size_t>(steps);
    for (const BranchLane& lane : lanes) {
      if (lane.failure.empty()) fewest_steps = std::min(fewest_steps, lane.losses.size());
    }
    std::vector<TrialRun*> runs;
    std::vector<BranchLane*> branch_lanes;
    for (BranchLane& lane : lanes) {
      if (!lane.failure.empty() || lane.losses.size() != fewest_steps || std::ssize(lane.losses) >= steps) continue;
      branch_lanes.push_back(&lane);
      runs.push_back(lane.run);
    }
    if (runs.empty()) return true;
    if (should_stop()) return false;
    struct Before {
      double loss_sum, rows;
      std::size_t steps;
    };
    std::vector<Before> before;
    for (const TrialRun* run : runs) {
      const UpdatePlan updates = run->updates();
      before.push_back({run->progress().loss_sum(), static_cast<double>(updates.rows_in_next()),
                        static_cast<std::size_t>(updates.steps_in_next())});
    }
    std::vector<StepResult> results(runs.size());
    group.step(runs, results);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      branch_lanes[i]->failure = results[i].failure;
      if (!results[i].failure.empty()) continue;
      std::vector<double>& losses = branch_lanes[i]->losses;
      losses.insert(losses.end(), before[i].steps,
                    (runs[i]->progress().loss_sum() - before[i].loss_sum) / before[i].rows);
    }
  }
}

}  // namespace lanista::train
