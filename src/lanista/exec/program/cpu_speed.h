#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/exec/kernels/kernels.h"

namespace lanista::nn {

/// One level of the memory, as a single core reads it.
struct CacheLevelSpeed {
  std::string level;         ///< "L1", "L2", "L3", "memory"
  std::int64_t bytes = 0;    ///< what was read again and again; of memory, what no cache held
  double gb_per_second = 0;  ///< 1e9 bytes
};

/// What one core of this machine does at most: the limits that a program's time is compared with.
struct CpuSpeed {
  kernels::Isa isa = kernels::Isa::kPortable;
  double peak_gflops = 0;           ///< fp32, a multiply-add counted as two operations
  std::vector<CacheLevelSpeed> memory;  ///< from the nearest level; one whose size the system does not tell is left out

  /// The first level that holds `bytes` wholly, memory if none does.
  const CacheLevelSpeed& level_of(std::int64_t bytes) const;
};

/// Measures the calling thread's core, in well under half a second: the best of several short runs of each. On a busy
/// machine it says less than the core can do.
CpuSpeed measure_cpu_speed(kernels::Isa isa = kernels::best_isa());

/// The name of the CPU as the system gives it, "unknown" if it gives none.
std::string cpu_model();

}  // namespace lanista::nn
