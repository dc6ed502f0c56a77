#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/plan/elastic/scheduler_state.h"

namespace lanista::schedule {

/// Builds a decision: the placements of tasks, and the resulting load of workers. It starts with the present state.
class DecisionBuilder {
 public:
  /// `state` must live as long as the builder.
  explicit DecisionBuilder(const SchedulerState& state);

  /// Returns the placement of a task in this decision.
  const Placement& placement(std::size_t task) const { return placements_[task]; }
  /// Returns the load of a worker in this decision.
  const WorkerLoad& load(std::int32_t worker) const { return loads_[static_cast<std::size_t>(worker)]; }
  /// Returns the number of workers, with lost ones.
  std::int32_t num_workers() const { return static_cast<std::int32_t>(loads_.size()); }
  /// Returns true if the worker is not lost.
  bool is_alive(std::int32_t worker) const { return state_.alive[static_cast<std::size_t>(worker)]; }
  /// Returns the number of workers without a task.
  std::int64_t num_free() const { return num_free_; }

  /// Lets a task wait.
  void remove(std::size_t task);
  /// Gives free whole workers to a waiting task, those of `keep` first. `count` is at most num_free().
  void assign_workers(std::size_t task, std::int64_t count, const std::vector<std::int32_t>& keep = {});
  /// Changes the number of whole workers of a task. It keeps its first ones.
  void resize(std::size_t task, std::int64_t count);
  /// Gives 1/`parts` of a worker to a waiting task.
  void assign_part(std::size_t task, std::int32_t worker, std::int64_t parts);
  /// Returns true if 1/`parts` of the worker and enough memory are free for the task.
  bool fits_part(std::size_t task, std::int32_t worker, std::int64_t parts) const;
  /// Returns true if the worker may have one more trial, and has memory for it. Parts are not considered.
  bool can_join(std::size_t task, std::int32_t worker) const;
  /// Adds a waiting task to the trials of a worker. Call rebalance_parts afterwards.
  void join(std::size_t task, std::int32_t worker);

  /// Gives trials that share a worker equal parts, and a trial alone the whole worker.
  void rebalance_parts();
  /// Returns the decision.
  Decision decision(const PlanTarget& target = {}) &&;

 private:
  void count(std::size_t task, int sign);

  const SchedulerState& state_;
  std::vector<Placement> placements_;
  std::vector<WorkerLoad> loads_;
  std::int64_t num_free_ = 0;
};

/// Returns the numbers of tasks by their remaining seconds at width 1, longest first. Equal ones keep their order.
std::vector<std::size_t> longest_first(const SchedulerState& state);

}  // namespace lanista::schedule
