#pragma once

#include <cstddef>
#include <vector>

// Test functions with a known minimum of 0.
namespace lanista::search::testing {

/// The sum of squares, with its minimum at the origin.
inline double sphere(const std::vector<double>& x) {
  double sum = 0;
  for (const double u : x) sum += u * u;
  return sum;
}

/// The function of Rosenbrock, with its minimum at (1, …, 1) in a curved valley.
inline double rosenbrock(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    sum += 100 * (x[i + 1] - x[i] * x[i]) * (x[i + 1] - x[i] * x[i]) + (1 - x[i]) * (1 - x[i]);
  }
  return sum;
}

}  // namespace lanista::search::testing
