#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// Returns the backend of a device by its name in a study: "torch:cpu", "cuda:0", "block:host", "block:cuda:0".
///
/// The backend exists until the process ends. A name of LibTorch ("torch:…" or "cuda:…") opens the device library
/// `file`, or `library_file()` if `file` is empty. The library stays open until the process ends. Thread-safe.
/// Errors: kUnavailable for an unknown name or a missing library or device; the message names an alternative.
Result<const program::Backend*> open(std::string_view name, const std::string& file = {});

/// Returns the path of the LibTorch device library: $LANISTA_DEVICE_LIBRARY if it is set and not empty, else
/// liblanista_torch.so in the folder of the program. The file need not exist.
std::string library_file();

/// One line of the output of `lanista doctor`, for people.
struct DeviceCheck {
  std::string name;    ///< "gpu" or "torch"
  std::string value;   ///< what was found, or "none"
  std::string advice;  ///< what a GPU that is present lacks; else empty
};
/// Returns two lines for `lanista doctor`: "gpu" (the first NVIDIA GPU, its driver, the number of GPUs, and advice if
/// the driver's library is missing) and "torch" (whether the file of LibTorch's library is there; it is not opened).
std::vector<DeviceCheck> check_devices();

}  // namespace lanista::device
