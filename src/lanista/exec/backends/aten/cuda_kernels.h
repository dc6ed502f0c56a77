#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/backends/aten/lane_kernels.h"

namespace lanista::device {

/// Kernels of lanes on a GPU, compiled by NVRTC and started by the driver; both are opened, not linked.
class CudaKernels : public LaneKernels {
 public:
  /// 90: sm_90.
  virtual int architecture() const = 0;
};

/// The text of lanes' kernels compiled for sm_<architecture>. Errors: as of compile_cuda.
Result<std::string> compile_lane_kernels(at::ScalarType type, int architecture,
                                         const std::vector<std::string>& libraries = {});

/// `current_stream` tells the stream of this thread's queue; `torch_folder` is where LibTorch's libraries lie, one of
/// which knows the way to NVRTC. Errors: kUnavailable, naming what is missing.
Result<std::unique_ptr<const CudaKernels>> cuda_kernels(int device, void* (*current_stream)(),
                                                        const std::string& torch_folder);

}  // namespace lanista::device
