#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::search {

/// How the points of a Sobol sequence are randomised. Each way keeps them evenly spread.
enum class Scramble {
  kNone,   ///< Points are not randomised.
  kShift,  ///< Digital shift: the same bits of all points are flipped.
  kOwen,   ///< Nested uniform scrambling (Owen, 1995): each bit is flipped depending on the bits above it.
};

/// Returns point number `index` of the Sobol sequence in Gray-code order, with coordinates in [0, 1).
///
/// Point 0 is the origin before scrambling. `rng` gives the random bits of the scrambling, so all points of a sequence
/// need the same one. The direction numbers are those of Joe and Kuo, for 1 to 3667 dimensions. The caller checks this
/// limit.
std::vector<double> sobol_point(std::size_t dimensions, std::uint64_t index, Scramble scramble, const Rng& rng);

}  // namespace lanista::search
