#include "lanista/search/tuning/extra_steps.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::study {
namespace {

constexpr std::array<std::int64_t, 3> kPatience{1, 2, 4};  // values of search_length_factor

/// Returns the longest branch of a search before `epoch`. The last update of the epoch belongs to the trial, with any
/// batch.
std::int64_t longest_branch(const EpochSchedule& epochs, std::int64_t epoch, std::int64_t steps_per_update) {
  return epochs.steps_through(epoch) - epochs.steps_through(epoch - 1) - steps_per_update;
}

/// Returns the steps of all rounds of a race between `tries` tries without divergence, and those of its winner.
std::pair<std::int64_t, std::int64_t> race_steps_of(const TuneRules& rules, std::int64_t tries, std::int64_t longest) {
  std::int64_t steps = 0, done = 0, time = std::min(std::max<std::int64_t>(rules.time, 1), longest);
  for (std::int64_t left = tries;; left /= rules.halving) {
    steps += left * (time - done);
    if (time == longest || left < 2 * rules.halving) return {steps, time};  // one of them continues, or none
    done = std::exchange(time, std::min(time * rules.halving, longest));
  }
}

/// Returns an upper bound of the steps of a search with branches of at most `longest` steps. Each branch may run up to
/// `ahead` steps further.
std::int64_t max_steps_of_search(const TuneRules& rules, bool is_first, std::int64_t longer, std::int64_t longest) {
  const TuneRules now = rules_for_search(rules, is_first, longer);
  const std::int64_t ahead = rules.steps_per_update - 1, all = now.trials * (longest + ahead);
  std::int64_t steps = 0;
  const std::int64_t parallel_tries = std::max<std::int64_t>(1, now.parallel_tries);
  for (std::int64_t left = now.trials; left > 0; left -= parallel_tries) {
    steps += race_steps_of(now, std::min(left, parallel_tries), longest).first;
  }
  return std::min(steps + now.trials * ahead, all);
}

/// Returns the number of measured epochs after which the next search is due, if nothing has improved since `since`.
/// Above `count`: there is no further search.
std::int64_t next_search(const TuneRules& rules, std::int64_t since, std::int64_t longer, std::int64_t count) {
  const auto is_due = [&](std::int64_t measured) {
    return measured - since >=
           std::max(static_cast<std::int64_t>(rules.age * static_cast<double>(measured)), rules.retune * longer);
  };
  std::int64_t low = std::max<std::int64_t>(1, since + 1);
  if (rules.retune == 0 || (rules.age >= 1 && since > 0)) return count + 1;
  if (rules.age >= 1) {
    while (low <= count && !is_due(low)) ++low;
    return low;
  }
  std::int64_t high = count + 1;  // a search that is due stays due in later epochs
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_due(middle) ? high : low) = is_due(middle) ? middle : middle + 1;
  }
  return low;
}

/// Returns the largest number of extra steps over all courses of searches. It is computed from the last epoch back.
std::int64_t max_steps_of_trial(const TuneRules& rules, const EpochSchedule& epochs, std::int64_t count) {
  using ByPatience = std::array<std::int64_t, kPatience.size()>;
  std::vector<ByPatience> most(static_cast<std::size_t>(count) + 1);  // after a search at since = i
  const std::int64_t first = longest_branch(epochs, 1, rules.steps_per_update);
  const auto search = [&](std::int64_t measured, std::size_t patience) {
    const std::int64_t longest = longest_branch(epochs, measured + 1, rules.steps_per_update);
    if (longest < 1) return std::int64_t{0};
    std::int64_t now = max_steps_of_search(rules, false, kPatience[patience], longest);
    if (first < 1)
      now = std::max(now, max_steps_of_search(rules, true, kPatience[patience], longest));  // it may be the first
    const ByPatience& then = most[static_cast<std::size_t>(measured)];
    return now + std::max(then[0], then[std::min(patience + 1, kPatience.size() - 1)]);
  };
  for (std::int64_t since = count - 1; since >= 0; --since) {
    for (std::size_t patience = 0; patience < kPatience.size(); ++patience) {
      const std::int64_t measured = next_search(rules, since, kPatience[patience], count);
      if (measured < count) most[static_cast<std::size_t>(since)][patience] = search(measured, patience);
    }
  }
  const std::int64_t begin = first < 1 ? 0 : max_steps_of_search(rules, true, 1, first);
  return begin + std::max(most[0][0], most[0][1]);
}

}  // namespace

std::int64_t ExtraSteps::steps_through(std::int64_t from, std::int64_t to) const {
  std::int64_t steps = 0;
  for (const EpochSteps& at : expected) steps += at.epoch > from && at.epoch <= to ? at.steps : 0;
  return steps;
}

ExtraSteps search_steps(const TuneRules& rules, const EpochSchedule& epochs, std::int64_t count) {
  ExtraSteps out;
  if (count < 1) return out;
  std::int64_t trials = rules.trials, since = count / 3;
  for (std::int64_t measured = 0; measured < count;) {
    if (const std::int64_t longest = longest_branch(epochs, measured + 1, rules.steps_per_update); longest >= 1) {
      trials = std::max<std::int64_t>(1, std::min(trials, rules.parallel_tries));
      const auto [steps, own] = race_steps_of(rules_for_search(rules, measured == 0, 1), trials, longest);
      out.expected.push_back({measured + 1, steps - own});
      ++out.searches;
    }
    since = std::max(since, measured);
    measured = next_search(rules, since, 1, count);
  }
  out.most = max_steps_of_trial(rules, epochs, count);
  return out;
}

Result<ExtraSteps> extra_steps(const Recipe& recipe, const EpochSchedule& epochs) {
  const std::string& tune = recipe.tune.name;
  if (tune.empty() || tune == kReplaySchedule || tune == kAdaptive) return ExtraSteps();  // these kinds try nothing
  LANISTA_ASSIGN(const TuneRules rules, tune_rules(recipe));
  return search_steps(rules, epochs, recipe.epochs);
}

}  // namespace lanista::study
