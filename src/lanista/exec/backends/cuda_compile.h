#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::device {

/// A text for GPUs, and how it is compiled.
struct CudaSource {
  std::string name;  ///< of what is kept, and in messages
  std::string source;
  std::vector<std::string> options;
};

/// The text compiled by NVRTC for sm_<architecture>, which needs no device: from the cache (LANISTA_BLOCK_CACHE, or the
/// user's) where it was compiled before, but anew where `log` wants what the compiler says of registers. `libraries`
/// are tried before those that the system knows. Errors: kUnavailable (no NVRTC, or the text does not compile).
/// Thread-safe.
Result<std::string> compile_cuda(const CudaSource& text, int architecture,
                                 const std::vector<std::string>& libraries = {}, std::string* log = nullptr);

}  // namespace lanista::device
