#include "lanista/plan/elastic/helpers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "lanista/plan/elastic/elastic.h"

namespace lanista::plan {
namespace {

/// A leader with work, and its trials with work.
struct WorkerQueue {
  std::int32_t leader = 0;
  std::vector<const PlacedTrial*> trials;

  /// Returns the most workers that its trials can use, with the leader.
  std::int64_t most() const {
    std::int64_t helpers = 0;
    for (const PlacedTrial* trial : trials) helpers += std::max<std::int64_t>(trial->most, 1) - 1;
    return 1 + helpers;
  }
};

/// Returns the leaders with work, in ascending order.
std::vector<WorkerQueue> worker_queues_of(const HelperInput& helper_input) {
  std::map<std::int32_t, WorkerQueue> all;
  for (const PlacedTrial& trial : helper_input.trials) {
    if (!trial.has_work || !helper_input.is_alive[static_cast<std::size_t>(trial.leader)]) continue;
    all[trial.leader].leader = trial.leader;
    all[trial.leader].trials.push_back(&trial);
  }
  std::vector<WorkerQueue> out;
  for (auto& [leader, worker_queue] : all) out.push_back(std::move(worker_queue));
  return out;
}

/// Returns the seconds that one more helper saves in a second of the trial's work. Turns are proportional to work, so
/// this is the gain of the leader.
double gain_of(const PlacedTrial& trial, std::int64_t helpers) {
  const double alone = seconds_at(trial.expected, 1);
  if (alone <= 0) return 0;
  return (seconds_at(trial.expected, helpers + 1) - seconds_at(trial.expected, helpers + 2)) / alone;
}

/// Returns the first trial that gains most by one more helper. Empty if no trial may have more.
std::optional<std::size_t> find_largest_gain(std::span<const PlacedTrial* const> trials,
                                             std::span<const std::int64_t> helpers) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (helpers[i] + 1 >= trials[i]->most) continue;
    if (!best || gain_of(*trials[i], helpers[i]) > gain_of(*trials[*best], helpers[*best])) best = i;
  }
  return best;
}

/// Returns the seconds of a leader's trials, which alternate. The helpers are assigned again at each end of a trial.
double seconds_of(const std::vector<const PlacedTrial*>& by_length, std::int64_t helpers) {
  double seconds = 0, done = 0;
  for (std::size_t first = 0; first < by_length.size(); ++first) {
    const auto left = std::span(by_length).subspan(first);
    std::vector<std::int64_t> has(left.size(), 0);
    double pace = static_cast<double>(left.size());  // Seconds in which each trial does one second of its work.
    for (std::int64_t k = 0; k < helpers; ++k) {
      const auto next = find_largest_gain(left, has);
      if (!next || gain_of(*left[*next], has[*next]) <= 0) break;
      pace -= gain_of(*left[*next], has[*next]++);
    }
    const double until = seconds_at(left.front()->expected, 1);
    seconds += pace * (until - done);
    done = until;
  }
  return seconds;
}

/// Returns the predicted times of a leader's trials. For several trials, no Prediction fits all widths exactly. The
/// work that helpers divide is then the mean over the widths.
Prediction prediction_of(const WorkerQueue& worker_queue, std::int64_t workers) {
  Prediction out = worker_queue.trials.front()->expected;
  out.widest = std::min(worker_queue.most(), workers);
  out.busy = 1;
  out.memory = 0;  // A worker that is equal to the leader has enough memory.
  if (worker_queue.trials.size() == 1) return out;
  std::vector<const PlacedTrial*> trials = worker_queue.trials;
  std::ranges::stable_sort(trials, {}, [](const PlacedTrial* trial) { return seconds_at(trial->expected, 1); });
  const double alone = seconds_of(trials, 0);
  double shared = 0;
  for (std::int64_t width = 2; width <= out.widest; ++width) {
    shared += (alone - seconds_of(trials, width - 1)) / (1 - 1 / static_cast<double>(width));
  }
  if (out.widest > 1) shared = std::min(alone, shared / static_cast<double>(out.widest - 1));
  for (const PlacedTrial* trial : trials) out.resize = std::max(out.resize, trial->expected.resize);
  out.steps = 1;
  out.work = shared;
  out.overhead = alone - shared;
  out.latency = out.transfer = 0;
  return out;
}

/// Returns true for each worker without work of its own.
std::vector<bool> idle_of(const HelperInput& helper_input) {
  std::vector<bool> idle = helper_input.is_alive;
  for (const PlacedTrial& trial : helper_input.trials) {
    if (trial.has_work) idle[static_cast<std::size_t>(trial.leader)] = false;
  }
  return idle;
}

/// Returns the state with one task for each of `worker_queues`.
SchedulerState scheduler_state_of(const HelperInput& helper_input, const std::vector<WorkerQueue>& worker_queues,
                                  const std::vector<bool>& idle) {
  SchedulerState out;
  out.now = helper_input.now;
  out.alive = helper_input.is_alive;
  out.target = helper_input.target;
  out.cluster.workers = static_cast<std::int64_t>(helper_input.is_alive.size());
  out.cluster.shares = 1;
  out.cluster.widest = 1;
  for (const WorkerQueue& worker_queue : worker_queues) {
    Task task;
    task.id = worker_queue.leader;
    task.has_begun = true;
    task.expected = prediction_of(worker_queue, out.cluster.workers);
    out.cluster.widest = std::max(out.cluster.widest, task.expected.widest);
    task.placement.workers.push_back(worker_queue.leader);
    std::map<TrialId, std::int64_t> helpers;
    for (const auto& [worker, trial] : helper_input.helping) {
      const auto its =
          std::ranges::find(worker_queue.trials, trial, [](const PlacedTrial* each) { return each->trial; });
      if (its == worker_queue.trials.end() || !idle[worker] || helpers[trial] + 1 >= (*its)->most) continue;
      ++helpers[trial];
      task.placement.workers.push_back(static_cast<std::int32_t>(worker));
    }
    std::ranges::sort(task.placement.workers);
    out.tasks.push_back(std::move(task));
  }
  return out;
}

/// Assigns the helpers of a leader to its trials. Present helpers stay with their trial.
void assign_widths(const WorkerQueue& worker_queue, const std::vector<std::size_t>& workers,
                   const std::map<std::size_t, TrialId>& before, std::map<std::size_t, TrialId>& out) {
  std::vector<std::int64_t> helpers(worker_queue.trials.size(), 0);
  std::vector<std::size_t> others;
  for (const std::size_t worker : workers) {
    const auto at = before.find(worker);
    std::size_t i = 0;
    while (i < worker_queue.trials.size() && (at == before.end() || worker_queue.trials[i]->trial != at->second)) ++i;
    if (i == worker_queue.trials.size() || helpers[i] + 1 >= worker_queue.trials[i]->most) {
      others.push_back(worker);
      continue;
    }
    ++helpers[i];
    out[worker] = worker_queue.trials[i]->trial;
  }
  for (const std::size_t worker : others) {
    const auto next = find_largest_gain(worker_queue.trials, helpers);
    if (!next) return;
    ++helpers[*next];
    out[worker] = worker_queue.trials[*next]->trial;
  }
}

}  // namespace

SchedulerState scheduler_state_of(const HelperInput& helper_input) {
  return scheduler_state_of(helper_input, worker_queues_of(helper_input), idle_of(helper_input));
}

Helpers assign_helpers(const HelperInput& helper_input, const Policy& policy) {
  const std::vector<WorkerQueue> worker_queues = worker_queues_of(helper_input);
  std::vector<bool> idle = idle_of(helper_input);
  Helpers out{{}, helper_input.target};
  if (std::ranges::find(idle, true) == idle.end()) return out;
  if (std::ranges::any_of(worker_queues, [](const WorkerQueue& worker_queue) { return worker_queue.most() > 1; })) {
    const Decision decision = policy.decide(scheduler_state_of(helper_input, worker_queues, idle));
    out.target = decision.target;
    for (std::size_t k = 0; k < worker_queues.size(); ++k) {
      std::vector<std::size_t> helpers;
      for (const std::int32_t worker : decision.placements[k].workers) {
        const auto w = static_cast<std::size_t>(worker);
        if (idle[w] && std::ssize(helpers) + 1 < std::ssize(decision.placements[k].workers)) helpers.push_back(w);
      }
      assign_widths(worker_queues[k], helpers, helper_input.helping, out.helping);
    }
  }
  // A worker without a task waits with the trial that it helped for the next work of that trial.
  std::map<TrialId, std::int64_t> waiting;
  for (const auto& [worker, trial] : helper_input.helping) {
    if (worker >= idle.size() || !idle[worker] || out.helping.contains(worker)) continue;
    const auto its = std::ranges::find(helper_input.trials, trial, &PlacedTrial::trial);
    if (its == helper_input.trials.end() || its->has_work || waiting[trial] + 1 >= its->most) continue;
    ++waiting[trial];
    out.helping[worker] = trial;
  }
  return out;
}

std::unique_ptr<Policy> policy_of_helpers() { return elastic({.min_gain = 0.01}); }

}  // namespace lanista::plan
