#include "lanista/engine/core/lane_groups.h"

#include <utility>

#include "lanista/engine/core/record_bodies.h"

namespace lanista::engine {
namespace {

std::vector<plan::Machine> machines_of(const Services& services) {
  std::vector<plan::Machine> machines;
  for (const TrainingDevice& device : services.devices) machines.push_back(device.machine);
  if (machines.size() < 2) machines.assign(1, services.machine);
  return machines;
}

}  // namespace

LaneGroups::LaneGroups(StudyContext& study) : study_(study), planners_(machines_of(study.services)) {}

Result<void> LaneGroups::send() {
  StudyState& state = study_.state;
  Executor& executor = *study_.services.executor;
  if (plan::Regrouping changes = planners_.changes(); !changes.parts.empty()) {
    state.plan.apply(changes);
    const bool by_changes = state.schema >= store::kPlansSchema;  // a log keeps its schema
    LANISTA_TRY(study_.log.append_deferred(store::RecordType::kPlan,
                                           by_changes ? plan_body(changes) : plan_body(state.plan.plan())));
    executor.command(UpdateGroups{std::move(changes), std::exchange(unsent_, {})});
  }
  for (const Allow& allow : std::exchange(unsent_, {})) executor.command(allow);
  return {};
}

}  // namespace lanista::engine
