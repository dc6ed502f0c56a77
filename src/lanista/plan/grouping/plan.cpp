#include "lanista/plan/grouping/plan.h"

#include <algorithm>

#include "lanista/plan/grouping/planner.h"

namespace lanista::plan {

std::int64_t fair_share(std::int64_t trials, std::int64_t workers) {
  const std::int64_t each = std::max<std::int64_t>(workers, 1);
  return std::max<std::int64_t>((trials + each - 1) / each, 1);
}

std::int64_t num_lane_sharers(const Machine& machine) {
  return machine.whole_groups ? 1 : std::max<std::int64_t>(machine.workers, 1);
}

std::int64_t max_lanes_of(const PlannedTrial& trial, const Machine& machine) {
  const std::int64_t wanted = machine.lanes > 0 ? machine.lanes : autodiff::max_cached_lanes(trial.state_bytes);
  const std::int64_t each = std::max<std::int64_t>(trial.state_bytes + trial.best_weights_bytes, 1);
  const std::int64_t fitting = machine.bytes / num_lane_sharers(machine) / each;
  return std::max<std::int64_t>(std::min(wanted, fitting), 1);
}

GroupPlan make_plan(std::span<const PlannedTrial> trials, const Machine& machine) {
  Planner planner(machine);
  for (const PlannedTrial& trial : trials) planner.join(trial);
  static_cast<void>(planner.changes());
  return planner.plan();
}

}  // namespace lanista::plan
