#pragma once

#include <cstddef>
#include <vector>

// Functions whose minimum, 0, everybody knows.
namespace lanista::strategy::testing {

/// Lowest at the origin.
inline double sphere(const std::vector<double>& x) {
  double sum = 0;
  for (const double u : x) sum += u * u;
  return sum;
}

/// Lowest where all coordinates are 1, at the end of a bent valley.
inline double rosenbrock(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    sum += 100 * (x[i + 1] - x[i] * x[i]) * (x[i + 1] - x[i] * x[i]) + (1 - x[i]) * (1 - x[i]);
  }
  return sum;
}

}  // namespace lanista::strategy::testing
