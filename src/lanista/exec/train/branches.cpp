#include "lanista/exec/train/branches.h"

#include <algorithm>

namespace lanista::train {

bool train_branches(LaneGroup& group, std::span<BranchLane> lanes, std::int64_t steps,
                    const std::function<bool()>& leaves) {
  while (true) {
    // Whoever has done fewest steps is next: an update of a larger batch is several.
    auto least = static_cast<std::size_t>(steps);
    for (const BranchLane& lane : lanes) {
      if (lane.failure.empty()) least = std::min(least, lane.losses.size());
    }
    std::vector<TrialRun*> runs;
    std::vector<BranchLane*> who;
    for (BranchLane& lane : lanes) {
      if (!lane.failure.empty() || lane.losses.size() != least || std::ssize(lane.losses) >= steps) continue;
      who.push_back(&lane);
      runs.push_back(lane.run);
    }
    if (runs.empty()) return true;
    if (leaves()) return false;
    struct Before {
      double loss_sum, rows;
      std::size_t steps;
    };
    std::vector<Before> before;
    for (const TrialRun* run : runs) {
      before.push_back(
          {run->loss_sum(), static_cast<double>(run->rows_next()), static_cast<std::size_t>(run->stride())});
    }
    std::vector<StepEnd> ends(runs.size());
    group.step(runs, ends);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      who[i]->failure = ends[i].failure;
      if (!ends[i].failure.empty()) continue;
      std::vector<double>& losses = who[i]->losses;
      losses.insert(losses.end(), before[i].steps, (runs[i]->loss_sum() - before[i].loss_sum) / before[i].rows);
    }
  }
}

}  // namespace lanista::train
