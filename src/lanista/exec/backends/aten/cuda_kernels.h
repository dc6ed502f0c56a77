#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/backends/aten/lane_kernels.h"

namespace lanista::device {

/// Lane kernels of a GPU. NVRTC compiles them and the driver launches them; both libraries are opened at run time.
class CudaKernels : public LaneKernels {
 public:
  /// Returns the compute capability of the GPU as a number, for example 90 for sm_90.
  virtual int architecture() const = 0;
};

/// Returns the cubin of the lane kernels for sm_<architecture> with values of `type`. Errors: kUnavailable as for
/// `compile_cuda`.
Result<std::string> compile_lane_kernels(at::ScalarType type, int architecture,
                                         const std::vector<std::string>& libraries = {});

/// Returns the lane kernels of GPU number `device`, which are compiled and loaded when they first run. A failure then
/// throws c10::Error.
///
/// `current_stream` returns the CUDA stream of the calling thread. `torch_folder` contains LibTorch's libraries, which
/// may bring their own NVRTC. Errors: kUnavailable (the driver or the GPU); the message names what is missing.
Result<std::unique_ptr<const CudaKernels>> cuda_kernels(int device, void* (*current_stream)(),
                                                        const std::string& torch_folder);

}  // namespace lanista::device
