#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// Returns the batched backend of a LibTorch device: "cpu", "host" (for tests), "cuda:N", or "cuda" for "cuda:0".
///
/// The backend exists until the process ends. Errors: kUnavailable for an unknown name, or if this machine has no such
/// device.
Result<const program::Backend*> aten_backend(std::string_view device);

/// Returns the sorted names of all step operators that this backend supports, with the optimiser updates.
std::vector<std::string> aten_operators();

}  // namespace lanista::device
