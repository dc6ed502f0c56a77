#pragma once

#include <cstddef>
#include <span>

namespace lanista::schedule {

/// Work a second.
struct DeviceSpeed {
  double alone = 1;     ///< of one trial, however idle the device is
  double together = 1;  ///< of all that it trains at once
};

/// A device, and the work that lies before it.
struct DeviceLoad {
  DeviceSpeed speed = {};
  double work = 0;
};

/// Which of them ends a trial of so much work first, behind what it has; of equal ones the first. At least one device.
///
/// List scheduling on uniform machines by earliest completion: of equal trials no assignment ends sooner, and of any on
/// two devices none by more than the golden ratio (Cho and Sahni, 1980). A pure function.
std::size_t choose_device(std::span<const DeviceLoad> devices, double work);

}  // namespace lanista::schedule
