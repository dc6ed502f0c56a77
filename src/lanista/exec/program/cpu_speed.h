#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/exec/kernels/kernels.h"

namespace lanista::nn {

/// Read speed of one level of memory, as a single core measures it.
struct CacheLevelSpeed {
  std::string level;         ///< "L1", "L2", "L3", "memory"
  std::int64_t bytes = 0;    ///< size of the block that was read repeatedly; for memory, larger than any cache
  double gb_per_second = 0;  ///< read bandwidth in 1e9 bytes a second
};

/// The peak speed of one core of this machine, with which a program's time is compared.
struct CpuSpeed {
  kernels::Isa isa = kernels::Isa::kPortable;
  double peak_gflops = 0;               ///< 1e9 float32 operations a second; a multiply-add is two operations
  std::vector<CacheLevelSpeed> memory;  ///< nearest level first; levels of unknown size are left out

  /// The first level that holds `bytes` completely, or memory if none does.
  const CacheLevelSpeed& level_of(std::int64_t bytes) const;
};

/// Measures the core of the calling thread in less than half a second. Each number is the best of several short runs.
/// On a busy machine the result is below the core's peak.
CpuSpeed measure_cpu_speed(kernels::Isa isa = kernels::best_isa());

/// The model name of the CPU as the system reports it, or "unknown".
std::string cpu_model();

}  // namespace lanista::nn
