#pragma once

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device::block {

/// Runs all steps of a lane on the host, one thread after another.
///
/// In every phase, `order` maps a position (from 0) to the number of the thread that runs there. Null means ascending
/// order.
void run_on_host(const Lane& lane, int (*order)(int number));

}  // namespace lanista::device::block
