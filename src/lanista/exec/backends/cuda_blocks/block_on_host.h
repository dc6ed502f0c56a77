#pragma once

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device::block {

/// Runs all steps of a lane on the host: in every phase (between two barriers) the threads of the block run one after
/// another. `order` maps a position (from 0) to the number of the thread that runs there, and must be a permutation.
/// Null means ascending order. The CPU must have fused multiply-add.
void run_on_host(const Lane& lane, int (*order)(int number));

}  // namespace lanista::device::block
