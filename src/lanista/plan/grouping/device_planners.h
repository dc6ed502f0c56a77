#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lanista/plan/grouping/planner.h"

namespace lanista::plan {

/// One planner for each of several devices. Trials of two devices are never in one group. Not thread-safe.
///
/// The groups of device i of n have the numbers i + 1, i + 1 + n, i + 1 + 2 n and so on, with i from 0.
class DevicePlanners {
 public:
  /// Makes a planner for each device. `devices` must not be empty.
  explicit DevicePlanners(const std::vector<Machine>& devices);

  /// Adds a trial to the device with this index. The trial must not be on a device.
  void join(const PlannedTrial& trial, std::size_t device);
  /// Removes a trial. Does nothing if no device has it.
  void leave(TrialId trial);
  /// Applies the joins and leaves, and returns which trials changed their group since the last call, on all devices
  /// together. Group 0: the trials train alone, or have left. Only groups of several trials have other numbers.
  Regrouping changes();

 private:
  std::vector<Planner> device_planners_;
  std::map<TrialId, std::size_t> devices_;  // The device of each trial.
};

}  // namespace lanista::plan
