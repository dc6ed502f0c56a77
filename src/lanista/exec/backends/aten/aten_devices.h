#pragma once

#include "lanista/base/result.h"
#include "lanista/exec/backends/aten/aten_queue.h"

namespace lanista::device {

/// LibTorch's CPU.
const AtenDevice& aten_cpu();
/// The same with kernels of our own on the host: what a GPU does, but capture and streams. For proofs.
const AtenDevice& aten_host();
/// A GPU, by its number. Errors: kUnavailable, naming what is missing.
Result<const AtenDevice*> aten_cuda(int index);

}  // namespace lanista::device
