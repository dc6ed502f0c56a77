#pragma once

#include <string_view>

#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// Form B, a block a lane, on a device: "host" (for proofs), "cuda:0", or "cuda:0/512x2" with threads a block and
/// blocks a team. Errors: kUnavailable, naming what is missing. Thread-safe; the backend lives to the end of the
/// process.
Result<const nn::Backend*> block_backend(std::string_view device);

}  // namespace lanista::device
