#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "lanista/plan/elastic/cluster.h"

// The input and the result of schedulers: trials, their placements, and the workers.
namespace lanista::plan {

/// Where a trial runs: nowhere, on a part of one worker, or on whole workers of its own.
struct Placement {
  std::vector<std::int32_t> workers;  ///< Numbers of workers, ascending; empty: the trial waits.
  std::int64_t parts = 1;             ///< The trial has 1/parts of its one worker; a power of two, 1 for several.
  /// Returns true if the trial has no worker.
  bool waits() const { return workers.empty(); }
  /// Returns the placement as a width, a number of workers and 1/parts of a worker; 0 workers if the trial waits.
  Width width() const { return {static_cast<std::int64_t>(workers.size()), parts}; }
  bool operator==(const Placement&) const = default;
};

/// A trial that has not ended, as a scheduler sees it.
struct Task {
  std::int64_t id = 0;     ///< Number of the trial.
  Prediction expected;     ///< Predicted times and memory of its whole budget.
  double left = 1;         ///< Part of its budget that remains, from 0 to 1.
  double due = 0;          ///< Part of its budget that it would have done by now at the predicted pace; 0: unknown.
  Placement placement;     ///< Present placement.
  bool has_begun = false;  ///< True: it has state, so a change of workers costs expected.resize.
  double changed_at = -std::numeric_limits<double>::infinity();  ///< Second of its last change with a cost.
  double stalled_until = 0;                                      ///< It does not train before this second.
};

/// Returns the remaining seconds of a task on `width` whole workers that it has alone.
inline double remaining(const Task& task, std::int64_t width) { return task.left * seconds_at(task.expected, width); }

/// Returns the largest number of workers of a task, at least 1.
inline std::int64_t widest_of(const Task& task, const Cluster& cluster) {
  return std::max<std::int64_t>(1, std::min(cluster.widest, task.expected.widest));
}

/// The trials of one worker in sum.
struct WorkerLoad {
  std::int64_t count = 0;  ///< Number of trials.
  double busy = 0;         ///< Sum of Prediction::busy of these trials.
  double memory = 0;       ///< Sum of Prediction::memory of these trials.
  double parts = 0;        ///< Sum of 1/parts of these trials; 1 is the whole worker.
  bool whole = false;      ///< True: it belongs to a trial with several workers.
};

/// The deadline and the rules that deadline_policy follows.
struct PlanTarget {
  double deadline = 0;               ///< Second by which all trials should end; 0: no target yet; infinite: no limit.
  double max_busy = 1;               ///< Largest sum of Prediction::busy on a shared worker.
  std::int64_t most = 1;             ///< Most trials on a worker.
  bool prefers_least_busy = false;   ///< True: a trial joins the least busy worker instead of the busiest that fits.
  bool orders_by_work = false;       ///< True: trials start by seconds times busy, the largest first.
  bool keeps_arrival_order = false;  ///< True: trials start in their order instead of the longest first.
  std::uint64_t order_seed = 0;      ///< Seed of random factors from 0.7 to 1.3 on the sizes in the order; 0: none.
  double end = 0;                    ///< Second at which all trials end, predicted when the target was chosen.
  bool operator==(const PlanTarget&) const = default;
};

/// The input of one decision of a scheduler.
struct SchedulerState {
  double now = 0;           ///< Second of the decision.
  Cluster cluster;          ///< The workers.
  std::vector<bool> alive;  ///< For each worker: false if it is lost.
  std::vector<Task> tasks;  ///< In the order of arrival.
  PlanTarget target;        ///< Target of the present plan.

  /// Returns the number of workers that are not lost.
  std::int64_t num_alive() const;
  /// Returns the load of each worker by the present placements, in the order of the workers: its trials in number,
  /// time, memory and parts of the worker.
  std::vector<WorkerLoad> loads() const;
};

/// Returns the state with predictions corrected by the observed pace of running trials.
///
/// After 1 % of its budget, a trial's time is predicted from its pace alone, so the error of its steps is zero. The
/// cost of a change stays uncertain, so it is set to its upper limit. Predictions stay where `due` is 0.
SchedulerState with_observed_pace(SchedulerState state);

/// The result of one decision of a scheduler.
struct Decision {
  std::vector<Placement> placements;  ///< New placement of each task, in the order of the tasks.
  PlanTarget target;                  ///< Target of the plan from now on.
};

/// Checks that a decision assigns each worker at most once and respects all limits.
///
/// Errors: kInvalidArgument if the numbers of placements and tasks differ. The same, with task and worker, for a worker
/// that is lost or does not exist, and for workers that are not ascending. Also for parts that are no power of two up
/// to Cluster::shares or above 1 in sum, too little memory, and a task above its largest width.
Result<void> check_decision(const SchedulerState& state, const Decision& decision);

/// A scheduler: a pure function from a state to a decision.
///
/// It is called when trials arrive or end, when workers are lost or join, and when a prediction changes.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Returns its name for tables, such as "fifo". It lives as long as the policy.
  virtual std::string_view name() const = 0;
  /// Returns the new placement of each task, in the order of the tasks, and the plan target from now on.
  virtual Decision decide(const SchedulerState& state) const = 0;
};

}  // namespace lanista::plan
