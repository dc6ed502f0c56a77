#pragma once

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device::block {

/// The steps of a lane, its threads one after the other: as `order` says in every phase, or by their numbers (null).
void run_on_host(const Lane& lane, int (*order)(int number));

}  // namespace lanista::device::block
