#pragma once

#include <string>
#include <vector>

namespace lanista::bench {

/// An environment variable and its value.
struct EnvironmentVariable {
  std::string name, value;
};

/// The variables that OpenBLAS needs for its best speed and that the user has not set.
///
/// They select one thread and the kernels for this CPU. A version older than the CPU uses kernels of 2004, which need
/// three times as long for a large product. OpenBLAS reads the variables when it is loaded. Empty if LibTorch does not
/// use OpenBLAS or if nothing is missing.
std::vector<EnvironmentVariable> missing_blas_variables();

}  // namespace lanista::bench
