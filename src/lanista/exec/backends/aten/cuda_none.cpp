// Stub for builds with a LibTorch that has no CUDA.
#include "lanista/exec/backends/aten/aten_devices.h"

namespace lanista::device {

Result<const AtenDevice*> aten_cuda(int index) {
  return Error{.code = Code::kUnavailable,
               .message = "device 'torch:cuda:" + std::to_string(index) +
                          "' needs a LibTorch with CUDA; that of this build has none (docs/guides/gpu.md)",
               .where = {}};
}

}  // namespace lanista::device
