#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::device {

/// CUDA source text and its compiler options.
struct CudaSource {
  std::string name;                  ///< prefix of the cache file; also shown in messages
  std::string source;                ///< source text
  std::vector<std::string> options;  ///< options of NVRTC, without the architecture
};

/// Compiles `text` with NVRTC for sm_<architecture> and returns the cubin. It needs no GPU.
///
/// The result is cached in $LANISTA_BLOCK_CACHE, else in the user's cache folder. If `log` is not null, the text is
/// always compiled, and `log` receives the compiler's output with register counts. NVRTC is searched in `libraries`
/// first, then under its standard names. Thread-safe. Errors: kUnavailable if NVRTC is missing or the text does not
/// compile.
Result<std::string> compile_cuda(const CudaSource& text, int architecture,
                                 const std::vector<std::string>& libraries = {}, std::string* log = nullptr);

}  // namespace lanista::device
