#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/plan/elastic/scheduler_state.h"

namespace lanista::plan {

/// Builds a decision: the placements of tasks, and the resulting load of workers. It starts with the present
/// placements.
///
/// Tasks are given by their index in SchedulerState::tasks, workers by their number from 0.
class DecisionBuilder {
 public:
  /// `state` must live as long as the builder.
  explicit DecisionBuilder(const SchedulerState& state);

  /// Returns the placement of a task in this decision so far.
  const Placement& placement(std::size_t task) const { return placements_[task]; }
  /// Returns the load of a worker in this decision so far.
  const WorkerLoad& load(std::int32_t worker) const { return loads_[static_cast<std::size_t>(worker)]; }
  /// Returns the number of workers, with those that are lost.
  std::int32_t num_workers() const { return static_cast<std::int32_t>(loads_.size()); }
  /// Returns true if the worker is not lost.
  bool is_alive(std::int32_t worker) const { return state_.alive[static_cast<std::size_t>(worker)]; }
  /// Returns the number of workers that are not lost and have no task.
  std::int64_t num_free() const { return num_free_; }

  /// Takes all workers from a task, so that it waits.
  void remove(std::size_t task);
  /// Gives `count` free whole workers to a waiting task: first those of `keep` that are free, then the lowest numbers.
  /// `count` is at most num_free().
  void assign_workers(std::size_t task, std::int64_t count, const std::vector<std::int32_t>& keep = {});
  /// Changes the number of whole workers of a task to `count`, at most those that are free or its own alone. It keeps
  /// as many of its workers as possible. A worker that it shares is given up.
  void resize(std::size_t task, std::int64_t count);
  /// Gives 1/`parts` of a worker to a waiting task. fits_part must be true.
  void assign_part(std::size_t task, std::int32_t worker, std::int64_t parts);
  /// Returns true if the worker is not lost and has 1/`parts` of its time and enough memory free for the task.
  bool fits_part(std::size_t task, std::int32_t worker, std::int64_t parts) const;
  /// Returns true if the worker is not lost, has fewer than Cluster::shares trials, and has memory for the task. Parts
  /// are not considered.
  bool can_join(std::size_t task, std::int32_t worker) const;
  /// Adds a waiting task to the trials of a worker. can_join must be true. Call rebalance_parts afterwards.
  void join(std::size_t task, std::int32_t worker);

  /// Gives the trials of each shared worker equal parts, and a trial alone the whole worker. The part is 1 over the
  /// number of trials, rounded up to a power of two. Loads keep their WorkerLoad::parts.
  void rebalance_parts();
  /// Returns the decision with this plan target. The builder must not be used after it.
  Decision decision(const PlanTarget& target = {}) &&;

 private:
  void count(std::size_t task, int sign);

  const SchedulerState& state_;
  std::vector<Placement> placements_;
  std::vector<WorkerLoad> loads_;
  std::int64_t num_free_ = 0;
};

/// Returns the indices of the tasks by their remaining seconds at width 1, longest first. Equal ones keep their order.
std::vector<std::size_t> longest_first(const SchedulerState& state);

}  // namespace lanista::plan
