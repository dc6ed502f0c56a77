#pragma once

#include <cstddef>
#include <vector>

#include "lanista/engine/core/study_context.h"
#include "lanista/plan/grouping/device_planners.h"

namespace lanista::engine {

/// Plans the lane groups of the trials that the executor has, and collects the epochs that they may train. Changes are
/// sent together, so that no member of a group trains before the others may. Not thread-safe.
class LaneGroups {
 public:
  /// Plans for the machine, or for each device, of the study's services.
  explicit LaneGroups(StudyContext& study);

  /// Adds a trial that the executor has, on the device with this index in Services::devices.
  void join(const plan::PlannedTrial& trial, std::size_t device) { planners_.join(trial, device); }
  /// Removes a trial. Of a trial without a group it has no effect.
  void leave(TrialId trial) { planners_.leave(trial); }
  /// Lets a trial train through Allow::epoch. The executor receives it with the next send().
  void allow(const Allow& allow) { unsent_.push_back(allow); }
  /// Logs the groups that have changed since the last call, and sends them and the new allowances to the executor.
  /// Without a change it sends nothing. Errors: those of the log.
  Result<void> send();

 private:
  StudyContext& study_;
  plan::DevicePlanners planners_;
  std::vector<Allow> unsent_;
};

}  // namespace lanista::engine
