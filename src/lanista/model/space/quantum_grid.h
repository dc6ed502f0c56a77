#pragma once

#include <cstdint>

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// The multiples first·quant … last·quant that a quantised range allows; empty if first > last.
struct QuantumGrid {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
QuantumGrid quantum_grid(const FloatRange& range);

/// The allowed value nearest to `multiple` · quant.
double quantum_value(const FloatRange& range, std::int64_t multiple);

}  // namespace lanista::space
