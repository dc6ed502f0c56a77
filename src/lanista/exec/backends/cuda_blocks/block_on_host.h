#pragma once

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device::block {

/// Runs the steps of a lane on the host, one thread after another.
///
/// In every phase, `order` maps a position to the number of the thread that runs there. Null means ascending order.
void run_on_host(const Lane& lane, int (*order)(int number));

}  // namespace lanista::device::block
