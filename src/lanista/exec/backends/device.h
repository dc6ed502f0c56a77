#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// The backend of a device that a study names: "torch:cpu", "block:host", "block:cuda:0". Opens the library of its
/// kind, `file` (empty: the one that library_file tells), and keeps it to the end of the process. Errors: kUnavailable,
/// naming what is missing and the way out. Thread-safe.
Result<const nn::Backend*> open(std::string_view name, const std::string& file = {});

/// Where the library of LibTorch is looked for: LANISTA_DEVICE_LIBRARY, else beside the program.
std::string library_file();

/// A line for `lanista doctor`.
struct DeviceCheck {
  std::string name, value;
  std::string advice;  ///< empty: nothing is missing
};
/// Returns two lines for `lanista doctor`: "gpu" (the first NVIDIA GPU, its driver, the number of GPUs, and advice if
/// the driver's library is missing) and "torch" (whether the file of LibTorch's library is there; it is not opened).
std::vector<DeviceCheck> check_devices();

}  // namespace lanista::device
