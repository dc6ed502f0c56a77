// Of a trial whose start races: the race, what a run tells of it, and what a state tells of it.
#include "lanista/exec/train/start_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/search/study/start_race.h"
#include "lanista/exec/train/branches.h"

namespace lanista::train {
namespace {

/// What racers are compared by. Their mini-batches are the same, so the noise of these is no difference between them.
double level_of(const BranchLane& lane) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (!lane.failure.empty() || lane.losses.empty()) return kNone;
  const auto later = std::span(lane.losses).subspan(lane.losses.size() / 2);
  double sum = 0;
  for (const double loss : later) sum += loss;
  const double mean = sum / static_cast<double>(later.size());
  return std::isfinite(mean) ? mean : kNone;
}

}  // namespace

bool TrialRun::wants_race() const { return race_steps_ > 0 && step_ == 0 && !raced_ && measurements_.empty(); }

Result<TrialRun> TrialRun::racer(std::int64_t number) const {
  const std::string who = "trial " + std::to_string(trial().value) + " cannot race: ";
  if (!state_) return Error{Code::kFailedPrecondition, who + "there is no state in memory", ""};
  if (number == 0) return copied();
  TrialRun out = once_more();
  const RivalStart& rival = rivals_[static_cast<std::size_t>(number - 1)];
  out.start_ = rival.weights;
  for (auto& [step, setting] : out.settings_) setting.ease = rival.ease;
  return out;
}

void TrialRun::note_race(std::vector<study::Racer> race, TrialRun* winner) {
  raced_ = std::move(race);
  take_recipe(*raced_);
  if (winner == nullptr) return;
  state_ = std::move(winner->state_);
  step_ = winner->step_;
  loss_sum_ = winner->loss_sum_;
  start_.reset();
  for (RivalStart& rival : rivals_) rival.weights.reset();
}

void TrialRun::take_recipe(std::span<const study::Racer> race) {
  const std::size_t winner = study::race_winner(race).value_or(0);
  if (winner == 0 || winner > rivals_.size()) return;
  recalibrate_ = rivals_[winner - 1].recalibrate;
  for (auto& [step, setting] : settings_) setting.ease = rivals_[winner - 1].ease;
}

// Of a trial whose first epoch is measured, whoever made its recipe knows how the race ended.
Result<void> TrialRun::restore_race(const std::map<std::string, std::string>& facts,
                                    std::span<const study::Measurement> measurements) {
  raced_.reset();
  if (!measurements.empty()) {
    take_recipe(measurements.front().race);
    return {};
  }
  const auto told = facts.find("race");
  if (told == facts.end()) return {};
  const auto list = nlohmann::json::parse(told->second, nullptr, false);
  if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'race' is not a list", ""};
  std::vector<study::Racer> race;
  for (const auto& item : list) {
    LANISTA_ASSIGN(const study::Racer racer, study::racer_from_json(item));
    race.push_back(racer);
  }
  if (race_steps_ == 0) {  // the epoch was measured, this state is from before: the recipe is the winner's
    raced_ = std::move(race);
    return {};
  }
  if (std::cmp_not_equal(race.size(), racers())) {
    return Error{
        Code::kDataLoss,
        "checkpoint's race has " + std::to_string(race.size()) + " racers, the trial's " + std::to_string(racers()),
        ""};
  }
  take_recipe(race);
  raced_ = std::move(race);
  return {};
}

Result<bool> race_starts(LaneGroup& group, TrialRun& run, const std::function<bool()>& leaves) {
  std::vector<TrialRun> racers;
  for (std::int64_t i = 0; i < run.racers(); ++i) {
    LANISTA_ASSIGN(TrialRun racer, run.racer(i));
    LANISTA_TRY(group.admit(racer));
    racers.push_back(std::move(racer));
  }
  std::vector<BranchLane> lanes;
  for (TrialRun& racer : racers) lanes.push_back({&racer, {}, ""});
  const auto width = static_cast<std::size_t>(group.lanes());
  for (std::size_t first = 0; first < lanes.size(); first += width) {
    const auto some = std::span(lanes).subspan(first, std::min(width, lanes.size() - first));
    if (!train_branches(group, some, run.race_steps(), leaves)) return false;
  }
  std::vector<study::Racer> race;
  for (const BranchLane& lane : lanes) race.push_back({std::ssize(lane.losses), level_of(lane), false});
  const auto best = std::ranges::min_element(race, {}, &study::Racer::loss);
  best->kept = std::isfinite(best->loss);
  run.note_race(race, best->kept ? &racers[static_cast<std::size_t>(best - race.begin())] : nullptr);
  return true;
}

}  // namespace lanista::train
