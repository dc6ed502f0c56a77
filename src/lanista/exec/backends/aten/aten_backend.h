#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// Form A on a device of LibTorch: "cpu". Errors: kInvalidArgument (no such device), kUnavailable (it is not here).
Result<const nn::Backend*> aten_backend(std::string_view device);

/// Every operator of steps that has a form here, updates too, in order of their names.
std::vector<std::string> aten_operators();

}  // namespace lanista::device
