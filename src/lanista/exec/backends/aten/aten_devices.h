#pragma once

#include "lanista/base/result.h"
#include "lanista/exec/backends/aten/aten_queue.h"

namespace lanista::device {

/// Returns the CPU device of LibTorch.
const AtenDevice& aten_cpu();

/// Returns the CPU device with lane kernels. It runs the code paths of a GPU except graph capture and streams. For
/// tests.
const AtenDevice& aten_host();

/// Returns CUDA device number `index`. It exists until the process ends. Errors: kUnavailable; the message names what
/// is missing.
Result<const AtenDevice*> aten_cuda(int index);

}  // namespace lanista::device
