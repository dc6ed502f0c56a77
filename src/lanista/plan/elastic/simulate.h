#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lanista/plan/elastic/scheduler_state.h"

// The course of a job under a scheduler, on a clock of its own.
namespace lanista::schedule {

/// A trial that a tuning algorithm asks for.
struct Arrival {
  std::int64_t id = 0;
  Prediction expected;                ///< what the scheduler believes
  Prediction actual;                  ///< what is so
  std::optional<double> fails_after;  ///< part of its budget after which it fails
};

/// How a trial ended.
struct TrialEnd {
  std::int64_t id = 0;
  double arrived = 0, began = 0, ended = 0;  ///< seconds
  bool failed = false;
};

/// What asks for trials, as they end: a tuning algorithm. A barrier is one that waits until all have ended.
class TrialSource {
 public:
  virtual ~TrialSource() = default;
  /// New trials; `ended` since the last call, `waiting` and `running` now. Called at the beginning and after every end.
  virtual std::vector<Arrival> next(std::span<const TrialEnd> ended, std::size_t waiting, std::size_t running) = 0;
};

/// A worker that is lost, or there again.
struct WorkerChange {
  double at = 0;
  std::int32_t worker = 0;
  bool joins = false;
};

struct SimulationOptions {
  std::vector<WorkerChange> changes;  ///< in the order of time
  double snapshot = 0.1;              ///< what a trial does between two snapshots, as a part of its budget
  double learn_after = 2;             ///< part of a budget after which the actual times are known; above 1: never
  bool reports_pace = true;           ///< Task::due is kept; false: nobody can see how fast a trial gets on
};

/// A trial on workers, without a change.
struct PlacementInterval {
  std::int64_t id = 0;
  Placement placement;
  double began = 0, ended = 0;
};

struct ScheduleResult {
  double makespan = 0;
  double used_seconds = 0;       ///< worker-seconds in which somebody had the worker
  double available_seconds = 0;  ///< worker-seconds that there were until the end
  std::int64_t resizes = 0;
  double resize_seconds = 0;   ///< that trials stood still for it
  std::vector<TrialEnd> ends;  ///< in the order of time
  std::vector<PlacementInterval> placement_intervals;
  double utilisation() const { return available_seconds > 0 ? used_seconds / available_seconds : 0; }
};

/// Errors: kResourceExhausted if a trial needs more memory than a worker has; kFailedPrecondition if trials wait and
/// nothing runs or changes any more (the policy starves them, or no worker is left).
Result<ScheduleResult> simulate(const Cluster& cluster, TrialSource& source, const Policy& policy,
                                const SimulationOptions& options = {});

/// When all tasks of a situation will have ended if predictions hold and nothing else happens. Infinite if `policy`
/// starves some, and if it cannot be before `limit`: it stops as soon as the work that is left says so.
double predicted_end(SchedulerState state, const Policy& policy,
                     double limit = std::numeric_limits<double>::infinity());
/// The same if `actual` is so, of each task, whatever is predicted.
double end_if(std::span<const Prediction> actual, SchedulerState state, const Policy& policy,
              double limit = std::numeric_limits<double>::infinity());

/// Trials that are all there from the beginning.
class SingleGroup : public TrialSource {
 public:
  explicit SingleGroup(std::vector<Arrival> trials) : trials_(std::move(trials)) {}
  std::vector<Arrival> next(std::span<const TrialEnd>, std::size_t, std::size_t) override {
    return std::exchange(trials_, {});
  }

 private:
  std::vector<Arrival> trials_;
};

}  // namespace lanista::schedule
