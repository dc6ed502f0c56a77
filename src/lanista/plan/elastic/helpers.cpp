#include "lanista/plan/elastic/helpers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "lanista/plan/elastic/elastic.h"

namespace lanista::schedule {
namespace {

/// A home with work, and its trials that have some.
struct House {
  std::int32_t home = 0;
  std::vector<const Housed*> trials;

  std::int64_t most() const {
    std::int64_t helpers = 0;
    for (const Housed* trial : trials) helpers += std::max<std::int64_t>(trial->most, 1) - 1;
    return 1 + helpers;
  }
};

/// In the order of homes.
std::vector<House> houses_of(const Homes& homes) {
  std::map<std::int32_t, House> all;
  for (const Housed& trial : homes.trials) {
    if (!trial.has_work || !homes.there[static_cast<std::size_t>(trial.home)]) continue;
    all[trial.home].home = trial.home;
    all[trial.home].trials.push_back(&trial);
  }
  std::vector<House> out;
  for (auto& [home, house] : all) out.push_back(std::move(house));
  return out;
}

/// What one more helper takes off a second of the trial's work: turns go by work, so that is what a home gains by it.
double gain_of(const Housed& trial, std::int64_t helpers) {
  const double alone = seconds_at(trial.expected, 1);
  if (alone <= 0) return 0;
  return (seconds_at(trial.expected, helpers + 1) - seconds_at(trial.expected, helpers + 2)) / alone;
}

/// The trial that gains most by one helper more than it has, the first of those; none: nobody may have more.
std::optional<std::size_t> gains_most(std::span<const Housed* const> trials, std::span<const std::int64_t> helpers) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (helpers[i] + 1 >= trials[i]->most) continue;
    if (!best || gain_of(*trials[i], helpers[i]) > gain_of(*trials[*best], helpers[*best])) best = i;
  }
  return best;
}

/// Seconds of a house's trials, in turns, those first that end first, with so many helpers dealt anew at each end.
double seconds_of(const std::vector<const Housed*>& by_length, std::int64_t helpers) {
  double seconds = 0, done = 0;
  for (std::size_t first = 0; first < by_length.size(); ++first) {
    const auto left = std::span(by_length).subspan(first);
    std::vector<std::int64_t> has(left.size(), 0);
    double pace = static_cast<double>(left.size());  // seconds in which each gets on by one
    for (std::int64_t k = 0; k < helpers; ++k) {
      const auto next = gains_most(left, has);
      if (!next || gain_of(*left[*next], has[*next]) <= 0) break;
      pace -= gain_of(*left[*next], has[*next]++);
    }
    const double until = seconds_at(left.front()->expected, 1);
    seconds += pace * (until - done);
    done = until;
  }
  return seconds;
}

/// What a house takes, at its widths. Of several trials that is no line of a Prediction; the part that helpers shorten
/// is then the one that fits all widths in the mean.
Prediction prediction_of(const House& house, std::int64_t workers) {
  Prediction out = house.trials.front()->expected;
  out.widest = std::min(house.most(), workers);
  out.busy = 1;
  out.memory = 0;  // what its home can hold, its equals can
  if (house.trials.size() == 1) return out;
  std::vector<const Housed*> trials = house.trials;
  std::ranges::stable_sort(trials, {}, [](const Housed* trial) { return seconds_at(trial->expected, 1); });
  const double alone = seconds_of(trials, 0);
  double shared = 0;
  for (std::int64_t width = 2; width <= out.widest; ++width) {
    shared += (alone - seconds_of(trials, width - 1)) / (1 - 1 / static_cast<double>(width));
  }
  if (out.widest > 1) shared = std::min(alone, shared / static_cast<double>(out.widest - 1));
  for (const Housed* trial : trials) out.resize = std::max(out.resize, trial->expected.resize);
  out.steps = 1;
  out.work = shared;
  out.overhead = alone - shared;
  out.latency = out.transfer = 0;
  return out;
}

/// Who has no work of its own.
std::vector<bool> idle_of(const Homes& homes) {
  std::vector<bool> idle = homes.there;
  for (const Housed& trial : homes.trials) {
    if (trial.has_work) idle[static_cast<std::size_t>(trial.home)] = false;
  }
  return idle;
}

Situation situation_of(const Homes& homes, const std::vector<House>& houses, const std::vector<bool>& idle) {
  Situation out;
  out.now = homes.now;
  out.alive = homes.there;
  out.aim = homes.aim;
  out.cluster.workers = static_cast<std::int64_t>(homes.there.size());
  out.cluster.shares = 1;
  out.cluster.widest = 1;
  for (const House& house : houses) {
    Task task;
    task.id = house.home;
    task.begun = true;
    task.expected = prediction_of(house, out.cluster.workers);
    out.cluster.widest = std::max(out.cluster.widest, task.expected.widest);
    task.place.workers.push_back(house.home);
    std::map<TrialId, std::int64_t> helpers;
    for (const auto& [worker, trial] : homes.helping) {
      const auto its = std::ranges::find(house.trials, trial, [](const Housed* each) { return each->trial; });
      if (its == house.trials.end() || !idle[worker] || helpers[trial] + 1 >= (*its)->most) continue;
      ++helpers[trial];
      task.place.workers.push_back(static_cast<std::int32_t>(worker));
    }
    std::ranges::sort(task.place.workers);
    out.tasks.push_back(std::move(task));
  }
  return out;
}

/// Gives the workers of a house to its trials: whoever helps one of them stays with it.
void deal(const House& house, const std::vector<std::size_t>& workers, const std::map<std::size_t, TrialId>& before,
          std::map<std::size_t, TrialId>& out) {
  std::vector<std::int64_t> helpers(house.trials.size(), 0);
  std::vector<std::size_t> others;
  for (const std::size_t worker : workers) {
    const auto at = before.find(worker);
    std::size_t i = 0;
    while (i < house.trials.size() && (at == before.end() || house.trials[i]->trial != at->second)) ++i;
    if (i == house.trials.size() || helpers[i] + 1 >= house.trials[i]->most) {
      others.push_back(worker);
      continue;
    }
    ++helpers[i];
    out[worker] = house.trials[i]->trial;
  }
  for (const std::size_t worker : others) {
    const auto next = gains_most(house.trials, helpers);
    if (!next) return;
    ++helpers[*next];
    out[worker] = house.trials[*next]->trial;
  }
}

}  // namespace

Situation situation_of(const Homes& homes) { return situation_of(homes, houses_of(homes), idle_of(homes)); }

Helpers assign_helpers(const Homes& homes, const Policy& policy) {
  const std::vector<House> houses = houses_of(homes);
  std::vector<bool> idle = idle_of(homes);
  Helpers out{{}, homes.aim};
  if (std::ranges::find(idle, true) == idle.end()) return out;
  if (std::ranges::any_of(houses, [](const House& house) { return house.most() > 1; })) {
    const Decision decision = policy.decide(situation_of(homes, houses, idle));
    out.aim = decision.aim;
    for (std::size_t k = 0; k < houses.size(); ++k) {
      std::vector<std::size_t> helpers;
      for (const std::int32_t worker : decision.places[k].workers) {
        const auto w = static_cast<std::size_t>(worker);
        if (idle[w] && std::ssize(helpers) + 1 < std::ssize(decision.places[k].workers)) helpers.push_back(w);
      }
      deal(houses[k], helpers, homes.helping, out.helping);
    }
  }
  // Whoever is left waits with those that it helped for their next work.
  std::map<TrialId, std::int64_t> waiting;
  for (const auto& [worker, trial] : homes.helping) {
    if (worker >= idle.size() || !idle[worker] || out.helping.contains(worker)) continue;
    const auto its = std::ranges::find(homes.trials, trial, &Housed::trial);
    if (its == homes.trials.end() || its->has_work || waiting[trial] + 1 >= its->most) continue;
    ++waiting[trial];
    out.helping[worker] = trial;
  }
  return out;
}

std::unique_ptr<Policy> policy_of_helpers() { return elastic({.least_gain = 0.01}); }

}  // namespace lanista::schedule
