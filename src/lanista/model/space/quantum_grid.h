#pragma once

#include <cstdint>

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// The multiples of a quantum that a quantised range contains, as factors. Empty if first > last.
struct QuantumGrid {
  std::int64_t first = 0;  ///< factor of the smallest value
  std::int64_t last = 0;   ///< factor of the largest value
};
/// Returns the factors of the multiples of `quant` (above 0) in a range. A bound within a relative 1e-9 of a multiple
/// counts as that multiple.
QuantumGrid quantum_grid(const FloatRange& range);

/// Returns `multiple` · quant, clamped to the bounds of the range. `multiple` is a factor of quantum_grid().
double quantum_value(const FloatRange& range, std::int64_t multiple);

}  // namespace lanista::space
