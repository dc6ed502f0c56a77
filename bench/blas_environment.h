#pragma once

#include <string>
#include <vector>

namespace lanista::bench {

/// An environment variable.
struct EnvironmentVariable {
  std::string name, value;
};

/// What OpenBLAS, if LibTorch stands on it, must find in the environment before it is loaded so that the baselines run
/// at their best: one thread, and kernels for this CPU. A version older than the CPU falls back to kernels of 2004,
/// which cost a large product a factor of three. Only variables that the user has not set; empty: nothing to do.
std::vector<EnvironmentVariable> missing_blas_variables();

}  // namespace lanista::bench
