#pragma once

#include <string_view>

#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// Returns the block backend, which runs one thread block per lane.
///
/// `device` is "cuda:0", "cuda:0/512x2" (512 threads per block and 2 blocks per lane) or "host" (for tests). The
/// backend exists until the process ends. Thread-safe. Errors: kUnavailable for an unknown name or a missing device;
/// the message names what is missing.
Result<const nn::Backend*> block_backend(std::string_view device);

}  // namespace lanista::device
