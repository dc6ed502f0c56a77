#include "lanista/train/branches.h"

namespace lanista::train {

bool train_branches(LaneGroup& group, std::span<BranchLane> lanes, std::int64_t steps,
                    const std::function<bool()>& leaves) {
  for (std::int64_t step = 0; step < steps; ++step) {
    if (leaves()) return false;
    std::vector<TrialRun*> runs;
    std::vector<BranchLane*> who;
    std::vector<double> before;
    for (BranchLane& lane : lanes) {
      if (!lane.failure.empty()) continue;
      who.push_back(&lane);
      runs.push_back(lane.run);
      before.push_back(lane.run->loss_sum());
    }
    if (runs.empty()) return true;
    std::vector<StepEnd> ends(runs.size());
    const auto rows = static_cast<double>(runs.front()->rows_next());
    group.step(runs, ends);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      who[i]->failure = ends[i].failure;
      if (ends[i].failure.empty()) who[i]->losses.push_back((runs[i]->loss_sum() - before[i]) / rows);
    }
  }
  return true;
}

}  // namespace lanista::train
