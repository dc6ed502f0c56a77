#include "lanista/plan/elastic/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "lanista/base/check.h"

namespace lanista::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kDone = 1e-12;  ///< Part of a budget that counts as no work.
constexpr double kTick = 1e-14;  ///< Part of the present time that rounding errors of the clock may reach.

/// The true state of a task, which the scheduler does not see.
struct TaskFacts {
  Prediction actual;
  double ends_at = 0;         ///< Part of its budget that is left at its end: 0, or more if it fails.
  double rate = 0;            ///< Part of its budget that it does in a second now.
  double predicted_rate = 0;  ///< The same if its prediction were true.
  double arrived = 0, began = -1;
  double snapshot_left = 1;
  double since = 0;  ///< Second of its present placement.
  bool known = false;
};

/// Placements and time, shared by lookahead and simulation.
class SimulatedClock {
 public:
  SimulatedClock(SchedulerState& state, std::vector<TaskFacts>& facts) : at_(state), facts_(facts) {}

  /// Computes the true and the predicted rate of each task.
  void set_rates() {
    loads_.assign(at_.alive.size(), {});
    predicted_loads_.assign(at_.alive.size(), {});
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      for (const std::int32_t worker : at_.tasks[i].placement.workers) {
        add(loads_[static_cast<std::size_t>(worker)], facts_[i].actual);
        add(predicted_loads_[static_cast<std::size_t>(worker)], at_.tasks[i].expected);
      }
    }
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      facts_[i].rate = rate_of(facts_[i].actual, at_.tasks[i].placement, loads_);
      facts_[i].predicted_rate = rate_of(at_.tasks[i].expected, at_.tasks[i].placement, predicted_loads_);
    }
  }

  /// Returns the second at which task i reaches `left`, if nothing changes.
  double time_when_left_is(std::size_t i, double left) const {
    const TaskFacts& fact = facts_[i];
    if (fact.rate == 0) return kNever;
    const double from = std::max(at_.now, at_.tasks[i].stalled_until);
    return from + std::max(0.0, at_.tasks[i].left - left) / fact.rate;
  }

  /// Returns true if task i has reached `left`.
  bool has_reached(std::size_t i, double left) const {
    const double tolerance = kDone + facts_[i].rate * at_.now * kTick;
    return !at_.tasks[i].placement.waits() && at_.tasks[i].left <= left + tolerance;
  }

  void advance_to(double then) {
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      const TaskFacts& fact = facts_[i];
      if (fact.rate == 0) continue;
      const double from = std::max(at_.now, at_.tasks[i].stalled_until);
      if (then <= from) continue;
      at_.tasks[i].left = std::max(0.0, at_.tasks[i].left - (then - from) * fact.rate);
      at_.tasks[i].due += (then - from) * fact.predicted_rate;
    }
    at_.now = then;
  }

  /// Changes the placement of task i. Returns true if the change costs a resize.
  bool put(std::size_t i, const Placement& placement) {
    Task& task = at_.tasks[i];
    const bool moves = task.placement.workers != placement.workers;
    task.placement = placement;
    if (!moves) return false;
    if (placement.waits()) return false;
    if (facts_[i].began < 0) facts_[i].began = at_.now;
    const bool costs = task.has_begun;
    if (costs) {
      task.changed_at = at_.now;
      task.stalled_until = at_.now + facts_[i].actual.resize;
    }
    task.has_begun = true;
    return costs;
  }

 private:
  static void add(WorkerLoad& load, const Prediction& trial) {
    ++load.count;
    load.busy += trial.busy;
  }

  /// Returns the part of a budget that a task does in a second.
  double rate_of(const Prediction& trial, const Placement& placement, const std::vector<WorkerLoad>& loads) const {
    if (placement.waits()) return 0;
    double seconds = seconds_at(trial, static_cast<std::int64_t>(placement.workers.size()));
    if (placement.workers.size() == 1) {
      const WorkerLoad& load = loads[static_cast<std::size_t>(placement.workers.front())];
      if (load.count > 1) seconds *= slowdown(load.busy, load.count, at_.cluster);
    }
    return seconds > 0 ? 1 / seconds : kNever;
  }

  SchedulerState& at_;
  std::vector<TaskFacts>& facts_;
  std::vector<WorkerLoad> loads_, predicted_loads_;
};

class Simulation {
 public:
  Simulation(const Cluster& cluster, TrialSource& source, const Policy& policy, const SimulationOptions& options)
      : source_(source), policy_(policy), options_(options), clock_(at_, facts_) {
    at_.cluster = cluster;
    at_.alive.assign(static_cast<std::size_t>(cluster.workers), true);
  }

  Result<ScheduleResult> run() {
    LANISTA_TRY(arrive({}));
    while (!at_.tasks.empty()) {
      LANISTA_TRY(decide());
      clock_.set_rates();
      const double then = next_event();
      if (then == kNever) {
        return Error{
            Code::kFailedPrecondition,
            std::to_string(at_.tasks.size()) + " trials wait and none runs, at second " + std::to_string(at_.now), ""};
      }
      advance_to(then);
      reveal_actual_times();
      LANISTA_TRY(change_workers());
      LANISTA_TRY(end_trials());
    }
    result_.makespan = at_.now;
    return std::move(result_);
  }

 private:
  Result<void> arrive(std::span<const TrialEnd> ended) {
    std::size_t running = 0;
    for (const Task& task : at_.tasks) running += task.placement.waits() ? 0 : 1;
    for (const Arrival& arrival : source_.next(ended, at_.tasks.size() - running, running)) {
      const double memory = std::max(arrival.expected.memory, arrival.actual.memory);
      if (memory > at_.cluster.usable_memory()) {
        return Error{Code::kResourceExhausted,
                     "trial " + std::to_string(arrival.id) + " needs memory of " + std::to_string(memory) +
                         "; a worker has " + std::to_string(at_.cluster.usable_memory()),
                     ""};
      }
      Task task;
      task.id = arrival.id;
      task.expected = arrival.expected;
      at_.tasks.push_back(std::move(task));
      TaskFacts fact;
      fact.actual = arrival.actual;
      fact.ends_at = 1 - std::min(1.0, arrival.fails_after.value_or(1));
      fact.arrived = at_.now;
      facts_.push_back(fact);
    }
    return {};
  }

  Result<void> decide() {
    const Decision decision = policy_.decide(at_);
    LANISTA_TRY(check_decision(at_, decision));
    at_.target = decision.target;
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      if (at_.tasks[i].placement == decision.placements[i]) continue;
      close_interval(i);
      if (clock_.put(i, decision.placements[i])) {
        ++result_.resizes;
        result_.resize_seconds += facts_[i].actual.resize;
      }
    }
    return {};
  }

  double next_event() const {
    double then =
        next_change_ < options_.changes.size() ? std::max(at_.now, options_.changes[next_change_].at) : kNever;
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      then = std::min(then, clock_.time_when_left_is(i, facts_[i].ends_at));
      if (!facts_[i].known && options_.learn_after < 1)
        then = std::min(then, clock_.time_when_left_is(i, 1 - options_.learn_after));
    }
    return then;
  }

  void advance_to(double then) {
    const double seconds = then - at_.now;
    std::vector<bool> taken(at_.alive.size());
    for (const Task& task : at_.tasks) {
      for (const std::int32_t worker : task.placement.workers) taken[static_cast<std::size_t>(worker)] = true;
    }
    result_.used_seconds += seconds * static_cast<double>(std::ranges::count(taken, true));
    result_.available_seconds += seconds * static_cast<double>(at_.num_alive());
    clock_.advance_to(then);
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      if (!options_.reports_pace) at_.tasks[i].due = 0;
      const double done = 1 - at_.tasks[i].left;
      const double kept =
          options_.snapshot > 0 ? std::floor(done / options_.snapshot + 1e-9) * options_.snapshot : done;
      facts_[i].snapshot_left = std::min(facts_[i].snapshot_left, 1 - kept);
    }
  }

  void reveal_actual_times() {
    if (options_.learn_after >= 1) return;
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      if (facts_[i].known || !clock_.has_reached(i, 1 - options_.learn_after)) continue;
      facts_[i].known = true;
      at_.tasks[i].expected = facts_[i].actual;
      at_.tasks[i].due = 1 - at_.tasks[i].left;
    }
  }

  /// Lets the trials of a lost worker wait, with the state of their last checkpoint.
  Result<void> change_workers() {
    while (next_change_ < options_.changes.size() && options_.changes[next_change_].at <= at_.now) {
      const WorkerChange& change = options_.changes[next_change_++];
      if (change.worker < 0 || static_cast<std::size_t>(change.worker) >= at_.alive.size()) {
        return Error{Code::kInvalidArgument,
                     "worker " + std::to_string(change.worker) + " does not exist; the cluster has " +
                         std::to_string(at_.alive.size()),
                     ""};
      }
      at_.alive[static_cast<std::size_t>(change.worker)] = change.joins;
      if (change.joins) continue;
      for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
        if (std::ranges::find(at_.tasks[i].placement.workers, change.worker) == at_.tasks[i].placement.workers.end())
          continue;
        close_interval(i);
        clock_.put(i, {});
        const double done = 1 - at_.tasks[i].left;
        at_.tasks[i].left = facts_[i].snapshot_left;
        if (done > 0) at_.tasks[i].due *= (1 - at_.tasks[i].left) / done;
      }
    }
    return {};
  }

  Result<void> end_trials() {
    std::vector<TrialEnd> ended;
    for (std::size_t i = 0; i < at_.tasks.size();) {
      if (!clock_.has_reached(i, facts_[i].ends_at)) {
        ++i;
        continue;
      }
      close_interval(i);
      ended.push_back({at_.tasks[i].id, facts_[i].arrived, facts_[i].began, at_.now, facts_[i].ends_at > 0});
      at_.tasks.erase(at_.tasks.begin() + static_cast<std::ptrdiff_t>(i));
      facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    result_.ends.insert(result_.ends.end(), ended.begin(), ended.end());
    return ended.empty() ? Result<void>() : arrive(ended);
  }

  void close_interval(std::size_t i) {
    if (!at_.tasks[i].placement.waits() && at_.now > facts_[i].since) {
      result_.placement_intervals.push_back({at_.tasks[i].id, at_.tasks[i].placement, facts_[i].since, at_.now});
    }
    facts_[i].since = at_.now;
  }

  TrialSource& source_;
  const Policy& policy_;
  const SimulationOptions& options_;
  SchedulerState at_;
  std::vector<TaskFacts> facts_;
  SimulatedClock clock_;
  ScheduleResult result_;
  std::size_t next_change_ = 0;
};

/// The least seconds and the least worker-seconds of a whole task.
struct MinimalCost {
  double seconds = 0, area = 0;
};

MinimalCost minimal_cost_of(const Prediction& trial, const SchedulerState& at) {
  const double alone = seconds_at(trial, 1);
  MinimalCost least{alone, alone * (at.cluster.shares > 1 ? std::min(1.0, trial.busy) : 1.0)};
  for (std::int64_t width = 2; width <= std::min(at.cluster.widest, trial.widest); ++width) {
    const double seconds = seconds_at(trial, width);
    least.seconds = std::min(least.seconds, seconds);
    least.area = std::min(least.area, static_cast<double>(width) * seconds);
  }
  return least;
}

/// Returns a lower bound on the end of the remaining work: all work spread evenly, or the longest trial at its best
/// width.
double earliest_end(const SchedulerState& at, const std::vector<MinimalCost>& least) {
  double area = 0, longest = 0;
  for (std::size_t i = 0; i < least.size(); ++i) {
    const double left = at.tasks[i].left;
    area += left * least[i].area;
    longest = std::max(longest, left * least[i].seconds + std::max(0.0, at.tasks[i].stalled_until - at.now));
  }
  return at.now + std::max(longest, area / static_cast<double>(std::max<std::int64_t>(1, at.num_alive())));
}

}  // namespace

Result<ScheduleResult> simulate(const Cluster& cluster, TrialSource& source, const Policy& policy,
                                const SimulationOptions& options) {
  LANISTA_TRY(check_cluster(cluster));
  return Simulation(cluster, source, policy, options).run();
}

double predicted_end(SchedulerState state, const Policy& policy, double limit) {
  std::vector<Prediction> expected;
  for (const Task& task : state.tasks) expected.push_back(task.expected);
  return end_if(expected, std::move(state), policy, limit);
}

double end_if(std::span<const Prediction> actual, SchedulerState state, const Policy& policy, double limit) {
  std::vector<TaskFacts> facts(state.tasks.size());
  std::vector<MinimalCost> least;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].actual = actual[i];
    facts[i].began = state.tasks[i].has_begun ? 0 : -1;
    least.push_back(minimal_cost_of(facts[i].actual, state));
  }
  SimulatedClock clock(state, facts);
  while (!state.tasks.empty()) {
    if (earliest_end(state, least) >= limit) return kNever;
    const Decision decision = policy.decide(state);
    state.target = decision.target;
    for (std::size_t i = 0; i < state.tasks.size(); ++i) {
      if (state.tasks[i].placement != decision.placements[i]) clock.put(i, decision.placements[i]);
    }
    clock.set_rates();
    double then = kNever;
    for (std::size_t i = 0; i < state.tasks.size(); ++i) then = std::min(then, clock.time_when_left_is(i, 0));
    if (then == kNever) return kNever;
    clock.advance_to(then);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < state.tasks.size(); ++i) {
      if (clock.has_reached(i, 0)) continue;
      if (kept != i) {
        state.tasks[kept] = std::move(state.tasks[i]);
        facts[kept] = facts[i];
        least[kept] = least[i];
      }
      ++kept;
    }
    state.tasks.resize(kept);
    facts.resize(kept);
    least.resize(kept);
  }
  return state.now;
}

}  // namespace lanista::plan
