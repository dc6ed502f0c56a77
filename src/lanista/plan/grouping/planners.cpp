#include "lanista/plan/grouping/planners.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::schedule {

Planners::Planners(const std::vector<Machine>& devices) {
  LANISTA_CHECK(!devices.empty(), "there is a device");
  for (const Machine& machine : devices) planners_.emplace_back(machine);
}

void Planners::join(const Trial& trial, std::size_t device) {
  planners_.at(device).join(trial);
  devices_[trial.id] = device;
}

void Planners::leave(TrialId trial) {
  const auto it = devices_.find(trial);
  if (it == devices_.end()) return;
  planners_[it->second].leave(trial);
  devices_.erase(it);
}

// Each device has every so-manieth number for its groups. Of a trial that changes its device one planner says that it
// is in no group, and the other one may say in which: that counts.
Regrouping Planners::changes() {
  const auto all = static_cast<std::int64_t>(planners_.size());
  std::map<TrialId, std::int64_t> groups;
  for (std::size_t i = 0; i < planners_.size(); ++i) {
    for (const auto& [group, trials] : planners_[i].changes().parts) {
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

}  // namespace lanista::schedule
