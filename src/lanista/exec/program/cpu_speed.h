#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/exec/kernels/kernels.h"

namespace lanista::program {

/// Read speed of one level of memory, as a single core measures it.
struct CacheLevelSpeed {
  std::string level;         ///< "L1", "L2", "L3", "memory".
  std::int64_t bytes = 0;    ///< Size of the block that was read; for "memory" it is flushed from all caches before.
  double gb_per_second = 0;  ///< Read bandwidth in 1e9 bytes a second.
};

/// The peak speed of one core of this machine, with which the time of a program's calls is compared.
struct CpuSpeed {
  kernels::Isa isa = kernels::Isa::kPortable;  ///< Instruction set level of the measured kernels.
  double peak_gflops = 0;                      ///< 1e9 float32 operations a second; a multiply-add is two operations.
  std::vector<CacheLevelSpeed> memory;         ///< Nearest level first; levels of unknown size are left out.

  /// The first entry of `memory` with a block of at least `bytes`, or the entry "memory" if none has. Requires a
  /// measured speed.
  const CacheLevelSpeed& level_of(std::int64_t bytes) const;
};

/// Measures the core of the calling thread, which needs less than half a second. Each number is the best of several
/// short runs. On a busy machine the result is below the core's peak.
CpuSpeed measure_cpu_speed(kernels::Isa isa = kernels::best_isa());

/// The "model name" of the first CPU in /proc/cpuinfo, or "unknown".
std::string cpu_model();

}  // namespace lanista::program
