#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lanista/plan/elastic/scheduler_state.h"

// Simulates trials under a scheduler, with a simulated clock.
namespace lanista::plan {

/// A trial that a source starts now.
struct Arrival {
  std::int64_t id = 0;                ///< Number of the trial.
  Prediction expected;                ///< Times that the scheduler predicts.
  Prediction actual;                  ///< True times, which the scheduler does not see.
  std::optional<double> fails_after;  ///< Part of its budget after which it fails; empty: it succeeds.
};

/// The end of a trial.
struct TrialEnd {
  std::int64_t id = 0;  ///< Number of the trial.
  double arrived = 0;   ///< Second of its arrival.
  double began = 0;     ///< Second at which it first got workers.
  double ended = 0;     ///< Second of its end.
  bool failed = false;  ///< True: it failed.
};

/// The origin of trials, such as a tuning algorithm. With a barrier it waits until all trials have ended.
class TrialSource {
 public:
  virtual ~TrialSource() = default;
  /// Returns the trials that arrive now, in order. It is called at the start, and once after each second at which
  /// trials ended.
  ///
  /// `ended` are the trials that ended since the last call; `waiting` and `running` are the numbers of other trials
  /// now.
  virtual std::vector<Arrival> next(std::span<const TrialEnd> ended, std::size_t waiting, std::size_t running) = 0;
};

/// A worker that is lost or joins.
struct WorkerChange {
  double at = 0;            ///< Second of the change.
  std::int32_t worker = 0;  ///< Number of the worker, from 0.
  bool joins = false;       ///< True: it joins; false: it is lost.
};

/// Settings of a simulation.
struct SimulationOptions {
  std::vector<WorkerChange> changes;  ///< Lost and joining workers, in the order of time.
  double snapshot = 0.1;              ///< Part of a budget between two checkpoints of a trial; 0: always kept.
  double learn_after = 2;             ///< Part of a budget after which the true times are known; from 1 on: never.
  bool reports_pace = true;           ///< True: Task::due is set, which shows the pace of a trial.
};

/// A time in which the placement of a trial does not change.
struct PlacementInterval {
  std::int64_t id = 0;  ///< Number of the trial.
  Placement placement;  ///< Its workers.
  double began = 0;     ///< Second of the start.
  double ended = 0;     ///< Second of the end.
};

/// The result of a simulation.
struct ScheduleResult {
  double makespan = 0;                                 ///< Second at which the last trial ended.
  double used_seconds = 0;                             ///< Worker-seconds in which a worker had a trial.
  double available_seconds = 0;                        ///< Worker-seconds of workers that were not lost.
  std::int64_t resizes = 0;                            ///< Number of changes of workers with a cost.
  double resize_seconds = 0;                           ///< Seconds that trials stopped for changes.
  std::vector<TrialEnd> ends;                          ///< Ends in the order of time.
  std::vector<PlacementInterval> placement_intervals;  ///< Intervals of all trials, in the order of their ends.
  /// Returns the used part of the available worker-seconds, from 0 to 1.
  double utilisation() const { return available_seconds > 0 ? used_seconds / available_seconds : 0; }
};

/// Simulates the trials of a source on a cluster under a policy, until all have ended.
///
/// Errors: kOutOfRange for a wrong cluster; kInvalidArgument for a wrong decision or a change of a worker that does not
/// exist. A trial that needs more memory than a worker has gives kResourceExhausted. The error is kFailedPrecondition
/// if trials wait and nothing will change, because the policy starts none or no worker is left.
Result<ScheduleResult> simulate(const Cluster& cluster, TrialSource& source, const Policy& policy,
                                const SimulationOptions& options = {});

/// Returns the second at which all tasks end if the predictions are true and nothing else happens.
///
/// Infinite if the policy never starts some task, or if the end cannot be before second `limit`. It stops as soon as
/// the remaining work shows that. Decisions are not checked.
double predicted_end(SchedulerState state, const Policy& policy,
                     double limit = std::numeric_limits<double>::infinity());
/// Returns the second at which all tasks end if actual[i] has the true times of task i. The policy decides by
/// Task::expected of the state, as it would. Seconds count as in SchedulerState::now.
///
/// Infinite if the policy never starts some task, or if the end cannot be before second `limit`.
double end_if(std::span<const Prediction> actual, SchedulerState state, const Policy& policy,
              double limit = std::numeric_limits<double>::infinity());

/// A source of trials that all arrive at the start.
class SingleGroup : public TrialSource {
 public:
  /// Makes a source that starts these trials at its first call, and none later.
  explicit SingleGroup(std::vector<Arrival> trials) : trials_(std::move(trials)) {}
  std::vector<Arrival> next(std::span<const TrialEnd>, std::size_t, std::size_t) override {
    return std::exchange(trials_, {});
  }

 private:
  std::vector<Arrival> trials_;
};

}  // namespace lanista::plan
