#include "lanista/plan/grouping/device_planners.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::plan {

DevicePlanners::DevicePlanners(const std::vector<Machine>& devices) {
  LANISTA_CHECK(!devices.empty(), "at least one device is needed");
  for (const Machine& machine : devices) device_planners_.emplace_back(machine);
}

void DevicePlanners::join(const PlannedTrial& trial, std::size_t device) {
  device_planners_.at(device).join(trial);
  devices_[trial.id] = device;
}

void DevicePlanners::leave(TrialId trial) {
  const auto it = devices_.find(trial);
  if (it == devices_.end()) return;
  device_planners_[it->second].leave(trial);
  devices_.erase(it);
}

// Device i of n has the group numbers i + 1, i + 1 + n, and so on. If a trial changes its device, one planner reports
// group 0 and the other one its new group. The larger number is right.
Regrouping DevicePlanners::changes() {
  const auto all = static_cast<std::int64_t>(device_planners_.size());
  std::map<TrialId, std::int64_t> groups;
  for (std::size_t i = 0; i < device_planners_.size(); ++i) {
    for (const auto& [group, trials] : device_planners_[i].changes().parts) {
      const std::int64_t number = group == 0 ? 0 : (group - 1) * all + static_cast<std::int64_t>(i) + 1;
      for (const TrialId trial : trials) groups[trial] = std::max(groups[trial], number);
    }
  }
  std::map<std::int64_t, std::vector<TrialId>> parts;
  for (const auto& [trial, group] : groups) parts[group].push_back(trial);
  Regrouping out;
  for (auto& [group, trials] : parts) out.parts.push_back({group, std::move(trials)});
  return out;
}

}  // namespace lanista::plan
