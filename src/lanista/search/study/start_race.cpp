#include "lanista/search/study/start_race.h"

#include <algorithm>
#include <sstream>

namespace lanista::study {
namespace {

std::span<const StartCandidate> start_race_of(const TrialView& trial) {
  if (!trial.proposal.race || trial.measurements.empty()) return {};
  return trial.measurements.front().race;
}

std::string candidate_name(const std::vector<const Start*>& starts, std::size_t start_candidate) {
  return start_candidate < starts.size() ? start_text(*starts[start_candidate]) : "random values";
}

}  // namespace

std::vector<const Start*> start_parents_of(const Proposal& proposal) {
  std::vector<const Start*> out;
  if (proposal.start) out.push_back(&*proposal.start);
  if (!proposal.race) return out;
  for (const Start& rival : proposal.race->rivals) out.push_back(&rival);
  return out;
}

std::optional<std::size_t> race_winner(std::span<const StartCandidate> race) {
  const auto kept = std::ranges::find(race, true, &StartCandidate::kept);
  if (kept == race.end()) return std::nullopt;
  return static_cast<std::size_t>(kept - race.begin());
}

const Start* winning_start(const TrialView& trial) {
  const auto starts = start_parents_of(trial.proposal);
  if (starts.empty()) return nullptr;
  const std::size_t winner = race_winner(start_race_of(trial)).value_or(0);
  return winner < starts.size() ? starts[winner] : nullptr;
}

std::int64_t discarded_race_steps(const StudyView& view) {
  std::int64_t steps = 0;
  for (const TrialView& trial : view.trials) steps += discarded_steps(start_race_of(trial));
  return steps;
}

std::string races_text(const StudyView& view) {
  std::int64_t start = 0, rival = 0, random = 0;
  for (const TrialView& trial : view.trials) {
    if (start_race_of(trial).empty()) continue;
    const Start* with = winning_start(trial);
    ++(with == nullptr ? random : with == &*trial.proposal.start ? start : rival);
  }
  const std::int64_t all = start + rival + random;
  if (all == 0) return {};
  const std::int64_t steps = discarded_race_steps(view);
  return std::to_string(all) + (all == 1 ? " start race: " : " start races: ") + std::to_string(start) +
         " won by the chosen start, " + std::to_string(rival) + " by another parent, " + std::to_string(random) +
         " by random values; " + std::to_string(steps) + " steps (" +
         std::to_string(view.steps > 0 ? 100 * steps / view.steps : 0) + " % of all) were discarded";
}

std::string start_summary(const TrialView& trial) {
  const auto& start = trial.proposal.start;
  if (!start) return {};
  const Start* with = winning_start(trial);
  if (with == &*start) return inherited_text(*start);
  const std::string better = ", better after " + std::to_string(trial.proposal.race->steps) + " steps than ";
  return (with == nullptr ? "random values" : inherited_text(*with)) + better + inherited_text(*start);
}

std::string race_text(const TrialView& trial) {
  const auto starts = start_parents_of(trial.proposal);
  std::ostringstream out;
  const std::span<const StartCandidate> race = start_race_of(trial);
  for (std::size_t i = 0; i < race.size(); ++i) {
    out << "\n"
        << (race[i].kept ? "  > " : "    ") << candidate_name(starts, i) << "  " << race[i].steps << " steps, loss "
        << race[i].loss;
  }
  return out.str();
}

}  // namespace lanista::study
