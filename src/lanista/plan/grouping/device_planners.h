#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lanista/plan/grouping/planner.h"

namespace lanista::schedule {

/// One planner for each of several devices. Trials of two devices are never in one group.
///
/// With one device, its groups have the numbers of its planner. Not thread-safe.
class DevicePlanners {
 public:
  /// `devices` must not be empty.
  explicit DevicePlanners(const std::vector<Machine>& devices);

  /// Adds a trial to the device with this number.
  void join(const PlannedTrial& trial, std::size_t device);
  /// Removes a trial. Does nothing if no device has it.
  void leave(TrialId trial);
  /// Returns the changes of all devices since the last call, as Planner::changes does.
  Regrouping changes();

 private:
  std::vector<Planner> device_planners_;
  std::map<TrialId, std::size_t> devices_;  // The device of each trial.
};

}  // namespace lanista::schedule
