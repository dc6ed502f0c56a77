#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::device {

/// CUDA source text to compile, with its compiler options.
struct CudaSource {
  std::string name;                  ///< name without spaces: prefix of the cache file, and name in messages
  std::string source;                ///< CUDA C++ text
  std::vector<std::string> options;  ///< command-line options of NVRTC, without the architecture
};

/// Returns machine code (a cubin) for sm_<architecture>, which NVRTC compiles from `text`. It needs no GPU.
///
/// The result is cached by name, text, options and architecture in $LANISTA_BLOCK_CACHE, else in the user's cache
/// folder; a cached result needs no NVRTC. If `log` is not null, the text is always compiled and not cached, and `log`
/// receives the compiler's output with register counts. NVRTC is searched in the files `libraries` first, then under
/// its standard names. Thread-safe. Errors: kUnavailable if NVRTC is missing or the text does not compile.
Result<std::string> compile_cuda(const CudaSource& text, int architecture,
                                 const std::vector<std::string>& libraries = {}, std::string* log = nullptr);

}  // namespace lanista::device
