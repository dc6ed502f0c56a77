#include "lanista/plan/elastic/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "lanista/base/check.h"

namespace lanista::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kDone = 1e-12;  // part of a budget that is no work any more
constexpr double kTick = 1e-14;  // of the time that has passed: what a clock of doubles cannot tell from now

/// What is so about a task, beside what the scheduler sees.
struct Fact {
  Prediction actual;
  double ends_at = 0;  ///< part of its budget that is left when it ends: 0, or more for one that fails
  double rate = 0;     ///< of its budget a second, in the present situation
  double hoped = 0;    ///< the same if its prediction held
  double arrived = 0, began = -1;
  double snapshot_left = 1;
  double since = 0;  ///< of its place
  bool known = false;
};

/// The mechanics, which lookahead and simulation share: places are taken, time passes.
class Clock {
 public:
  Clock(Situation& situation, std::vector<Fact>& facts) : at_(situation), facts_(facts) {}

  /// How fast everybody is now, and would be by prediction.
  void set_rates() {
    loads_.assign(at_.alive.size(), {});
    hoped_.assign(at_.alive.size(), {});
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      for (const std::int32_t worker : at_.tasks[i].place.workers) {
        add(loads_[static_cast<std::size_t>(worker)], facts_[i].actual);
        add(hoped_[static_cast<std::size_t>(worker)], at_.tasks[i].expected);
      }
    }
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      facts_[i].rate = rate_of(facts_[i].actual, at_.tasks[i].place, loads_);
      facts_[i].hoped = rate_of(at_.tasks[i].expected, at_.tasks[i].place, hoped_);
    }
  }

  /// When task i reaches `left`, if nothing changes.
  double reaches(std::size_t i, double left) const {
    const Fact& fact = facts_[i];
    if (fact.rate == 0) return kNever;
    const double from = std::max(at_.now, at_.tasks[i].stalled_until);
    return from + std::max(0.0, at_.tasks[i].left - left) / fact.rate;
  }

  /// Whether task i has come to `left`.
  bool is_at(std::size_t i, double left) const {
    const double tolerance = kDone + facts_[i].rate * at_.now * kTick;
    return !at_.tasks[i].place.waits() && at_.tasks[i].left <= left + tolerance;
  }

  void pass_to(double then) {
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      const Fact& fact = facts_[i];
      if (fact.rate == 0) continue;
      const double from = std::max(at_.now, at_.tasks[i].stalled_until);
      if (then <= from) continue;
      at_.tasks[i].left = std::max(0.0, at_.tasks[i].left - (then - from) * fact.rate);
      at_.tasks[i].due += (then - from) * fact.hoped;
    }
    at_.now = then;
  }

  /// Puts task i elsewhere. True if that costs it a resize.
  bool put(std::size_t i, const Place& place) {
    Task& task = at_.tasks[i];
    const bool moves = task.place.workers != place.workers;
    task.place = place;
    if (!moves) return false;
    if (place.waits()) return false;
    if (facts_[i].began < 0) facts_[i].began = at_.now;
    const bool costs = task.begun;
    if (costs) {
      task.changed_at = at_.now;
      task.stalled_until = at_.now + facts_[i].actual.resize;
    }
    task.begun = true;
    return costs;
  }

 private:
  static void add(Load& load, const Prediction& trial) {
    ++load.count;
    load.busy += trial.busy;
  }

  /// Of a budget a second.
  double rate_of(const Prediction& trial, const Place& place, const std::vector<Load>& loads) const {
    if (place.waits()) return 0;
    double seconds = seconds_at(trial, static_cast<std::int64_t>(place.workers.size()));
    if (place.workers.size() == 1) {
      const Load& load = loads[static_cast<std::size_t>(place.workers.front())];
      if (load.count > 1) seconds *= slowdown(load.busy, load.count, at_.cluster);
    }
    return seconds > 0 ? 1 / seconds : kNever;
  }

  Situation& at_;
  std::vector<Fact>& facts_;
  std::vector<Load> loads_, hoped_;
};

class Simulation {
 public:
  Simulation(const Cluster& cluster, Source& source, const Policy& policy, const SimulationOptions& options)
      : source_(source), policy_(policy), options_(options), clock_(at_, facts_) {
    at_.cluster = cluster;
    at_.alive.assign(static_cast<std::size_t>(cluster.workers), true);
  }

  Result<Course> run() {
    LANISTA_TRY(arrive({}));
    while (!at_.tasks.empty()) {
      LANISTA_TRY(decide());
      clock_.set_rates();
      const double then = next_event();
      if (then == kNever) {
        return Error{
            Code::kFailedPrecondition,
            std::to_string(at_.tasks.size()) + " trials wait and nothing runs, at second " + std::to_string(at_.now),
            ""};
      }
      pass_to(then);
      learn();
      LANISTA_TRY(change_workers());
      LANISTA_TRY(end_trials());
    }
    course_.makespan = at_.now;
    return std::move(course_);
  }

 private:
  Result<void> arrive(std::span<const End> ended) {
    std::size_t running = 0;
    for (const Task& task : at_.tasks) running += task.place.waits() ? 0 : 1;
    for (const Arrival& arrival : source_.next(ended, at_.tasks.size() - running, running)) {
      const double memory = std::max(arrival.expected.memory, arrival.actual.memory);
      if (memory > at_.cluster.usable_memory()) {
        return Error{Code::kResourceExhausted,
                     "trial " + std::to_string(arrival.id) + " needs memory " + std::to_string(memory) +
                         "; a worker has " + std::to_string(at_.cluster.usable_memory()),
                     ""};
      }
      Task task;
      task.id = arrival.id;
      task.expected = arrival.expected;
      at_.tasks.push_back(std::move(task));
      Fact fact;
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
    at_.aim = decision.aim;
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      if (at_.tasks[i].place == decision.places[i]) continue;
      close_stretch(i);
      if (clock_.put(i, decision.places[i])) {
        ++course_.resizes;
        course_.resize_seconds += facts_[i].actual.resize;
      }
    }
    return {};
  }

  double next_event() const {
    double then =
        next_change_ < options_.changes.size() ? std::max(at_.now, options_.changes[next_change_].at) : kNever;
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      then = std::min(then, clock_.reaches(i, facts_[i].ends_at));
      if (!facts_[i].known && options_.learn_after < 1)
        then = std::min(then, clock_.reaches(i, 1 - options_.learn_after));
    }
    return then;
  }

  void pass_to(double then) {
    const double seconds = then - at_.now;
    std::vector<bool> taken(at_.alive.size());
    for (const Task& task : at_.tasks) {
      for (const std::int32_t worker : task.place.workers) taken[static_cast<std::size_t>(worker)] = true;
    }
    course_.used_seconds += seconds * static_cast<double>(std::ranges::count(taken, true));
    course_.available_seconds += seconds * static_cast<double>(at_.num_alive());
    clock_.pass_to(then);
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      if (!options_.shows_pace) at_.tasks[i].due = 0;
      const double done = 1 - at_.tasks[i].left;
      const double kept =
          options_.snapshot > 0 ? std::floor(done / options_.snapshot + 1e-9) * options_.snapshot : done;
      facts_[i].snapshot_left = std::min(facts_[i].snapshot_left, 1 - kept);
    }
  }

  void learn() {
    if (options_.learn_after >= 1) return;
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
      if (facts_[i].known || !clock_.is_at(i, 1 - options_.learn_after)) continue;
      facts_[i].known = true;
      at_.tasks[i].expected = facts_[i].actual;
      at_.tasks[i].due = 1 - at_.tasks[i].left;
    }
  }

  /// Who was on a worker that is lost goes back to its snapshot and waits.
  Result<void> change_workers() {
    while (next_change_ < options_.changes.size() && options_.changes[next_change_].at <= at_.now) {
      const WorkerChange& change = options_.changes[next_change_++];
      if (change.worker < 0 || static_cast<std::size_t>(change.worker) >= at_.alive.size()) {
        return Error{
            Code::kInvalidArgument,
            "worker " + std::to_string(change.worker) + " is none of the cluster's " + std::to_string(at_.alive.size()),
            ""};
      }
      at_.alive[static_cast<std::size_t>(change.worker)] = change.joins;
      if (change.joins) continue;
      for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
        if (std::ranges::find(at_.tasks[i].place.workers, change.worker) == at_.tasks[i].place.workers.end()) continue;
        close_stretch(i);
        clock_.put(i, {});
        const double done = 1 - at_.tasks[i].left;
        at_.tasks[i].left = facts_[i].snapshot_left;
        if (done > 0) at_.tasks[i].due *= (1 - at_.tasks[i].left) / done;
      }
    }
    return {};
  }

  Result<void> end_trials() {
    std::vector<End> ended;
    for (std::size_t i = 0; i < at_.tasks.size();) {
      if (!clock_.is_at(i, facts_[i].ends_at)) {
        ++i;
        continue;
      }
      close_stretch(i);
      ended.push_back({at_.tasks[i].id, facts_[i].arrived, facts_[i].began, at_.now, facts_[i].ends_at > 0});
      at_.tasks.erase(at_.tasks.begin() + static_cast<std::ptrdiff_t>(i));
      facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    course_.ends.insert(course_.ends.end(), ended.begin(), ended.end());
    return ended.empty() ? Result<void>() : arrive(ended);
  }

  void close_stretch(std::size_t i) {
    if (!at_.tasks[i].place.waits() && at_.now > facts_[i].since) {
      course_.stretches.push_back({at_.tasks[i].id, at_.tasks[i].place, facts_[i].since, at_.now});
    }
    facts_[i].since = at_.now;
  }

  Source& source_;
  const Policy& policy_;
  const SimulationOptions& options_;
  Situation at_;
  std::vector<Fact> facts_;
  Clock clock_;
  Course course_;
  std::size_t next_change_ = 0;
};

/// The whole of a task: in the least time, and occupying the least of the workers.
struct Least {
  double seconds = 0, area = 0;
};

Least least_of(const Prediction& trial, const Situation& at) {
  const double alone = seconds_at(trial, 1);
  Least least{alone, alone * (at.cluster.shares > 1 ? std::min(1.0, trial.busy) : 1.0)};
  for (std::int64_t width = 2; width <= std::min(at.cluster.widest, trial.widest); ++width) {
    const double seconds = seconds_at(trial, width);
    least.seconds = std::min(least.seconds, seconds);
    least.area = std::min(least.area, static_cast<double>(width) * seconds);
  }
  return least;
}

/// No schedule ends what is left before that: all work spread evenly, and the longest trial as wide as is best.
double least_end(const Situation& at, const std::vector<Least>& least) {
  double area = 0, longest = 0;
  for (std::size_t i = 0; i < least.size(); ++i) {
    const double left = at.tasks[i].left;
    area += left * least[i].area;
    longest = std::max(longest, left * least[i].seconds + std::max(0.0, at.tasks[i].stalled_until - at.now));
  }
  return at.now + std::max(longest, area / static_cast<double>(std::max<std::int64_t>(1, at.num_alive())));
}

}  // namespace

Result<Course> simulate(const Cluster& cluster, Source& source, const Policy& policy,
                        const SimulationOptions& options) {
  LANISTA_TRY(check_cluster(cluster));
  return Simulation(cluster, source, policy, options).run();
}

double predicted_end(Situation situation, const Policy& policy, double limit) {
  std::vector<Prediction> expected;
  for (const Task& task : situation.tasks) expected.push_back(task.expected);
  return end_if(expected, std::move(situation), policy, limit);
}

double end_if(std::span<const Prediction> actual, Situation situation, const Policy& policy, double limit) {
  std::vector<Fact> facts(situation.tasks.size());
  std::vector<Least> least;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    facts[i].actual = actual[i];
    facts[i].began = situation.tasks[i].begun ? 0 : -1;
    least.push_back(least_of(facts[i].actual, situation));
  }
  Clock clock(situation, facts);
  while (!situation.tasks.empty()) {
    if (least_end(situation, least) >= limit) return kNever;
    const Decision decision = policy.decide(situation);
    situation.aim = decision.aim;
    for (std::size_t i = 0; i < situation.tasks.size(); ++i) {
      if (situation.tasks[i].place != decision.places[i]) clock.put(i, decision.places[i]);
    }
    clock.set_rates();
    double then = kNever;
    for (std::size_t i = 0; i < situation.tasks.size(); ++i) then = std::min(then, clock.reaches(i, 0));
    if (then == kNever) return kNever;
    clock.pass_to(then);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < situation.tasks.size(); ++i) {
      if (clock.is_at(i, 0)) continue;
      if (kept != i) {
        situation.tasks[kept] = std::move(situation.tasks[i]);
        facts[kept] = facts[i];
        least[kept] = least[i];
      }
      ++kept;
    }
    situation.tasks.resize(kept);
    facts.resize(kept);
    least.resize(kept);
  }
  return situation.now;
}

}  // namespace lanista::schedule
