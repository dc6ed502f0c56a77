#pragma once

#include <cstdint>

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// The values first·quant to last·quant of a quantised range. The grid is empty if first > last.
struct QuantumGrid {
  std::int64_t first = 0;  ///< smallest multiple
  std::int64_t last = 0;   ///< largest multiple
};
/// The grid of a range with `quant` > 0. Bounds within a relative 1e-9 of a multiple count as that multiple.
QuantumGrid quantum_grid(const FloatRange& range);

/// The value number `multiple` of the grid: `multiple` · quant, clamped to the bounds of the range.
double quantum_value(const FloatRange& range, std::int64_t multiple);

}  // namespace lanista::space
