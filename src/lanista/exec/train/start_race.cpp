#include "lanista/exec/train/start_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/branches.h"

namespace lanista::train {
namespace {

/// Returns the mean loss by which candidates are compared. They read the same batches, so batch noise is equal.
double later_mean_loss(const BranchLane& lane) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (!lane.failure.empty() || lane.losses.empty()) return kNone;
  const auto later = std::span(lane.losses).subspan(lane.losses.size() / 2);
  double sum = 0;
  for (const double loss : later) sum += loss;
  const double mean = sum / static_cast<double>(later.size());
  return std::isfinite(mean) ? mean : kNone;
}

}  // namespace

bool is_start_race_due(const TrialRun& run) {
  const TrialProgress& progress = run.progress();
  return run.start().race_steps() > 0 && progress.step_count() == 0 && !run.records().start_race &&
         progress.measurements().empty();
}

Result<bool> race_starts(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop) {
  BranchPoint beginning(run);
  std::vector<TrialRun> candidates;
  for (std::int64_t i = 0; i < run.start().num_candidates(); ++i) {
    LANISTA_ASSIGN(TrialRun start_candidate, beginning.start_candidate(i));
    LANISTA_TRY(group.admit(start_candidate));
    candidates.push_back(std::move(start_candidate));
  }
  std::vector<BranchLane> lanes;
  for (TrialRun& start_candidate : candidates) lanes.push_back({&start_candidate, {}, ""});
  const auto width = static_cast<std::size_t>(group.lanes());
  for (std::size_t first = 0; first < lanes.size(); first += width) {
    const auto some = std::span(lanes).subspan(first, std::min(width, lanes.size() - first));
    if (!train_branches(group, some, run.start().race_steps(), should_stop)) return false;
  }
  std::vector<study::StartCandidate> race;
  for (const BranchLane& lane : lanes) race.push_back({std::ssize(lane.losses), later_mean_loss(lane), false});
  const auto best = std::ranges::min_element(race, {}, &study::StartCandidate::loss);
  best->kept = std::isfinite(best->loss);
  TrialRun* const winner = best->kept ? &candidates[static_cast<std::size_t>(best - race.begin())] : nullptr;
  beginning.record_start_race(std::move(race), winner);
  return true;
}

}  // namespace lanista::train
