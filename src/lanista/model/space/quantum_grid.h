#pragma once

#include <cstdint>

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// The values of a quantised range, as factors of quantum_value(). Empty if first > last.
struct QuantumGrid {
  std::int64_t first = 0;  ///< factor of the smallest value
  std::int64_t last = 0;   ///< factor of the largest value
};
/// Returns the factors of the values of a range with quant above 0. If the grid begins at the lower bound, they are 0,
/// 1, 2, …; else the factors of the multiples of `quant`. A bound within a relative 1e-9 of a value counts as it.
QuantumGrid quantum_grid(const FloatRange& range);

/// Returns the value with a factor of quantum_grid(), clamped to the bounds of the range: factor · quant, or lo +
/// factor · quant if the grid begins at the lower bound. Then it is the real number that is nearest to the decimal one,
/// computed from the shortest decimal texts of lo and quant.
double quantum_value(const FloatRange& range, std::int64_t factor);

/// Returns the factor of the value that is nearest to `x`, inside the grid. The range has quant above 0.
std::int64_t nearest_factor(const FloatRange& range, double x);

}  // namespace lanista::space
