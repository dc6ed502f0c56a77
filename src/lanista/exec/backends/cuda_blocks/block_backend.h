#pragma once

#include <string_view>

#include "lanista/exec/program/backend.h"

namespace lanista::device {

/// Returns the block backend, which runs one thread block per lane, or a team of blocks.
///
/// `device` is "cuda:0", "cuda:0/512x2" (512 threads per block and 2 blocks per lane) or "host" (for tests).
/// Threads are 128, 256 or 512, blocks 1, 2, 4 or 8. Launches with more than one block a lane need compute capability
/// 9.0, else they fail. The backend exists until the process ends. Thread-safe. Errors:
/// kUnavailable for an unknown name, a device that is missing or cannot be opened, or a CPU without fused multiply-add;
/// the message has the reason.
Result<const program::Backend*> block_backend(std::string_view device);

}  // namespace lanista::device
