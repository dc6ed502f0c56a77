#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lanista/plan/grouping/planner.h"

namespace lanista::schedule {

/// A planner for each of several devices: trials of two of them are never in one group. Of one device it is its
/// planner, number by number. Not thread-safe.
class DevicePlanners {
 public:
  /// At least one.
  explicit DevicePlanners(const std::vector<Machine>& devices);

  /// To the device with this number.
  void join(const PlannedTrial& trial, std::size_t device);
  /// Nothing happens if it is not there.
  void leave(TrialId trial);
  /// As Planner::changes, of all devices together.
  Regrouping changes();

 private:
  std::vector<Planner> device_planners_;
  std::map<TrialId, std::size_t> devices_;  // where those are that have joined
};

}  // namespace lanista::schedule
