#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "lanista/plan/elastic/cluster.h"

// What a scheduler decides on: trials, what they have, and the workers there are.
namespace lanista::schedule {

/// Where a trial runs: nowhere (it waits), on a part of one worker, or on whole workers of its own.
struct Placement {
  std::vector<std::int32_t> workers;  ///< ascending
  std::int64_t parts = 1;             ///< of the one worker, a power of two; 1 for several
  bool waits() const { return workers.empty(); }
  Width width() const { return {static_cast<std::int64_t>(workers.size()), parts}; }
  bool operator==(const Placement&) const = default;
};

/// A trial that has not ended, as a scheduler sees it.
struct Task {
  std::int64_t id = 0;
  Prediction expected;  ///< of its whole budget
  double left = 1;      ///< part of its budget that remains
  double due = 0;       ///< part of its budget that it would have done by now if its prediction held
  Placement placement;
  bool has_begun = false;  ///< it has state, so a change of workers costs expected.resize
  double changed_at = -std::numeric_limits<double>::infinity();  ///< when it last paid for other workers
  double stalled_until = 0;  ///< it stands still until then, for a change of workers
};

/// Seconds that remain of a task at a width of whole workers.
inline double remaining(const Task& task, std::int64_t width) { return task.left * seconds_at(task.expected, width); }

/// Workers that a task may have, at most; 1 or more.
inline std::int64_t widest_of(const Task& task, const Cluster& cluster) {
  return std::max<std::int64_t>(1, std::min(cluster.widest, task.expected.widest));
}

/// What shares one worker.
struct WorkerLoad {
  std::int64_t count = 0;
  double busy = 0, memory = 0, parts = 0;  ///< sums; parts: of the worker
  bool whole = false;                      ///< taken by a trial of several workers
};

/// What a plan aims at; policies that plan ahead go on with it while it holds.
struct PlanTarget {
  double deadline = 0;    ///< second by which all is to have ended; 0: there is no plan; infinite: whenever that is
  double max_busy = 1;    ///< how busy trials that share a worker may make it together
  std::int64_t most = 1;  ///< trials on a worker
  bool prefers_least_busy = false;   ///< who shares joins the least busy worker, not the busiest with room
  bool orders_by_work = false;       ///< those with the most work begin first: time by how busy they keep a worker
  bool keeps_arrival_order = false;  ///< trials begin in their order, not the longest first
  /// 0: the order is as said. Otherwise it is drawn by this number: what trials are ordered by is taken as up to 30 %
  /// more or less.
  std::uint64_t order_seed = 0;
  double end = 0;  ///< second by which all will have ended, as it was predicted when the plan was made
  bool operator==(const PlanTarget&) const = default;
};

struct SchedulerState {
  double now = 0;
  Cluster cluster;
  std::vector<bool> alive;  ///< of each worker of the cluster
  std::vector<Task> tasks;  ///< in the order in which they arrived
  PlanTarget target;        ///< of the plan in force

  std::int64_t num_alive() const;
  /// Of every worker, by the places that tasks have.
  std::vector<WorkerLoad> loads() const;
};

/// What can be known of trials by looking at them: one that has done a hundredth of its budget takes as long as its
/// pace so far says, so that nothing is in doubt of it but what a change of workers costs; that is taken at its
/// dearest. Where no `due` is kept (0), predictions stay.
SchedulerState with_observed_pace(SchedulerState state);

/// What is to happen: a place for each task, in their order.
struct Decision {
  std::vector<Placement> placements;
  PlanTarget target;
};

/// Errors: kInvalidArgument naming task and worker, if a place is no worker that is there, if parts of a worker sum up
/// to more than one, if memory does not suffice, if a task is wider than allowed. Nothing is ever oversubscribed.
Result<void> check_decision(const SchedulerState& state, const Decision& decision);

/// A scheduler: a pure function from situation to decision. It is asked when trials arrive or end, when workers come or
/// go, and when a prediction changed; between these nothing moves.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  virtual Decision decide(const SchedulerState& state) const = 0;
};

}  // namespace lanista::schedule
