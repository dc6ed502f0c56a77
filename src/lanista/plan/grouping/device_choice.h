#pragma once

#include <cstddef>
#include <span>

namespace lanista::plan {

/// The speed of a device, as work in a second. The unit of work is free, but the same for all devices.
struct DeviceSpeed {
  double alone = 1;     ///< Work a second of one trial that has the device alone.
  double together = 1;  ///< Work a second of all trials that the device trains at once.
};

/// A device with the unfinished work of its trials, for the choice of a trial's device. The unit of work is free.
struct DeviceLoad {
  DeviceSpeed speed = {};  ///< Measured speed.
  double work = 0;         ///< Work of its trials that is not done yet, in the unit of DeviceSpeed.
};

/// Returns the index of the device on which a trial of this much work ends first, if it runs with the work of the
/// device.
///
/// Of equal devices it returns the first. `devices` must not be empty. This is list scheduling on uniform machines by
/// earliest completion. For equal trials no assignment ends sooner; for any trials on two devices the end is within the
/// golden ratio of the best (Cho and Sahni, 1980). A pure function.
std::size_t choose_device(std::span<const DeviceLoad> devices, double work);

}  // namespace lanista::plan
