#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/plan/elastic/scheduler_state.h"

namespace lanista::schedule {

/// A decision in the making: places of tasks, and what that leaves of the workers. It begins with what is so.
class DecisionBuilder {
 public:
  explicit DecisionBuilder(const SchedulerState& state);

  const Placement& placement(std::size_t task) const { return placements_[task]; }
  const WorkerLoad& load(std::int32_t worker) const { return loads_[static_cast<std::size_t>(worker)]; }
  std::int32_t num_workers() const { return static_cast<std::int32_t>(loads_.size()); }
  bool is_alive(std::int32_t worker) const { return state_.alive[static_cast<std::size_t>(worker)]; }
  /// Workers that nobody has.
  std::int64_t num_free() const { return num_free_; }

  void remove(std::size_t task);
  /// Whole workers that nobody has; those of `keep` that are free go first. At most num_free().
  void assign_workers(std::size_t task, std::int64_t count, const std::vector<std::int32_t>& keep = {});
  /// More workers for one that has whole ones, or fewer: the last ones go.
  void resize(std::size_t task, std::int64_t count);
  /// A part of a worker.
  void assign_part(std::size_t task, std::int32_t worker, std::int64_t parts);
  /// Whether a part of a worker is left for a task, and memory.
  bool has_room(std::size_t task, std::int32_t worker, std::int64_t parts) const;
  /// Whether one more trial would be within the allowed number of trials of a worker, if all took equal parts.
  bool can_join(std::size_t task, std::int32_t worker) const;
  /// A trial joins the trials of a worker; parts are dealt anew: equal ones, of a power of two.
  void join(std::size_t task, std::int32_t worker);

  /// Trials that are alone on a worker get all of it, others equal parts.
  void rebalance_parts();
  Decision decision(const PlanTarget& target = {}) &&;

 private:
  void count(std::size_t task, int sign);

  const SchedulerState& state_;
  std::vector<Placement> placements_;
  std::vector<WorkerLoad> loads_;
  std::int64_t num_free_ = 0;
};

/// Places of tasks by what remains of them at width 1, longest first; equals in their order.
std::vector<std::size_t> longest_first(const SchedulerState& state);

}  // namespace lanista::schedule
