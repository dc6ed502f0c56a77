#include "lanista/plan/grouping/device_choice.h"

#include <algorithm>

#include "lanista/base/check.h"

namespace lanista::plan {

std::size_t choose_device(std::span<const DeviceLoad> devices, double work) {
  LANISTA_CHECK(!devices.empty(), "at least one device is needed");
  const auto ends = [&](const DeviceLoad& device) {
    return std::max((device.work + work) / device.speed.together, work / device.speed.alone);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < devices.size(); ++i) {
    if (ends(devices[i]) < ends(devices[best])) best = i;
  }
  return best;
}

}  // namespace lanista::plan
