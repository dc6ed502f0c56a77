#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::strategy {

enum class Scramble { kNone, kShift, kOwen };

/// Point number `index` (0: the origin, before scrambling) of the Sobol sequence in Gray-code order, with Joe and Kuo's
/// direction numbers; coordinates in [0, 1). Scrambling keeps the evenness: kShift flips the same bits of all points
/// (digital shift), kOwen flips each bit by those above it (Owen, 1995). At most 3667 dimensions.
std::vector<double> sobol_point(std::size_t dimensions, std::uint64_t index, Scramble scramble, const Rng& rng);

}  // namespace lanista::strategy
