// The start race of a trial: the race, its record in a run, and its part of a state.
#include "lanista/exec/train/start_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/exec/train/branches.h"
#include "lanista/search/study/start_race.h"

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

bool TrialRun::is_start_race_due() const {
  return race_steps_ > 0 && step_ == 0 && !start_race_ && measurements_.empty();
}

Result<TrialRun> TrialRun::start_candidate(std::int64_t number) const {
  const std::string error_prefix = "trial " + std::to_string(trial().value) + " cannot race: ";
  if (!state_) return Error{Code::kFailedPrecondition, error_prefix + "there is no state in memory", ""};
  if (number == 0) return copy_with_state();
  TrialRun out = copy_without_state();
  const AlternativeStartWeights& alternative = alternative_starts_[static_cast<std::size_t>(number - 1)];
  out.start_ = alternative.weights;
  for (auto& [step, setting] : out.settings_) setting.ease = alternative.ease;
  return out;
}

void TrialRun::record_start_race(std::vector<study::StartCandidate> race, TrialRun* winner) {
  start_race_ = std::move(race);
  apply_race_winner(*start_race_);
  if (winner == nullptr) return;
  state_ = std::move(winner->state_);
  step_ = winner->step_;
  loss_sum_ = winner->loss_sum_;
  start_.reset();
  for (AlternativeStartWeights& alternative : alternative_starts_) alternative.weights.reset();
}

void TrialRun::apply_race_winner(std::span<const study::StartCandidate> race) {
  const std::size_t winner = study::race_winner(race).value_or(0);
  if (winner == 0 || winner > alternative_starts_.size()) return;
  recalibrate_ = alternative_starts_[winner - 1].recalibrate;
  for (auto& [step, setting] : settings_) setting.ease = alternative_starts_[winner - 1].ease;
}

// Restores the race. After the first measured epoch the recipe is already that of the winner.
Result<void> TrialRun::restore_race(const std::map<std::string, std::string>& facts,
                                    std::span<const study::Measurement> measurements) {
  start_race_.reset();
  if (!measurements.empty()) {
    apply_race_winner(measurements.front().race);
    return {};
  }
  const auto fact = facts.find("race");
  if (fact == facts.end()) return {};
  const auto list = nlohmann::json::parse(fact->second, nullptr, false);
  if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'race' is not a list", ""};
  std::vector<study::StartCandidate> race;
  for (const auto& item : list) {
    LANISTA_ASSIGN(const study::StartCandidate start_candidate, study::start_candidate_from_json(item));
    race.push_back(start_candidate);
  }
  if (race_steps_ == 0) {  // the epoch was measured, but this state is older: the recipe is the winner's
    start_race_ = std::move(race);
    return {};
  }
  if (std::cmp_not_equal(race.size(), num_start_candidates())) {
    return Error{Code::kDataLoss,
                 "checkpoint's race has " + std::to_string(race.size()) + " candidates, the trial's " +
                     std::to_string(num_start_candidates()),
                 ""};
  }
  apply_race_winner(race);
  start_race_ = std::move(race);
  return {};
}

Result<bool> race_starts(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop) {
  std::vector<TrialRun> candidates;
  for (std::int64_t i = 0; i < run.num_start_candidates(); ++i) {
    LANISTA_ASSIGN(TrialRun start_candidate, run.start_candidate(i));
    LANISTA_TRY(group.admit(start_candidate));
    candidates.push_back(std::move(start_candidate));
  }
  std::vector<BranchLane> lanes;
  for (TrialRun& start_candidate : candidates) lanes.push_back({&start_candidate, {}, ""});
  const auto width = static_cast<std::size_t>(group.lanes());
  for (std::size_t first = 0; first < lanes.size(); first += width) {
    const auto some = std::span(lanes).subspan(first, std::min(width, lanes.size() - first));
    if (!train_branches(group, some, run.race_steps(), should_stop)) return false;
  }
  std::vector<study::StartCandidate> race;
  for (const BranchLane& lane : lanes) race.push_back({std::ssize(lane.losses), later_mean_loss(lane), false});
  const auto best = std::ranges::min_element(race, {}, &study::StartCandidate::loss);
  best->kept = std::isfinite(best->loss);
  run.record_start_race(race, best->kept ? &candidates[static_cast<std::size_t>(best - race.begin())] : nullptr);
  return true;
}

}  // namespace lanista::train
