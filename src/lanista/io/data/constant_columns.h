#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "lanista/io/data/normalization.h"

namespace lanista::data {

/// Numbers from `least` to `most` that are equal up to rounding get the mean `least` and the scale 1; others keep
/// theirs. Their computed deviation is only the rounding of the mean, and a division by it would make noise large.
/// `origin` is what was subtracted from the numbers, or 0.
inline void settle_constant(double least, double most, double origin, double& mean, double& scale) {
  constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
  if (!(most - least <= kRounding * std::max(std::abs(least + origin), std::abs(most + origin)))) return;
  mean = least;
  scale = 1;
}

/// Settles the constant entries of a normalisation that was fitted to the rows `rows` of `numbers`, which have `width`
/// numbers each. `origin` was subtracted from the numbers: one for each entry, or empty.
void settle_constants(std::span<const float> numbers, std::int64_t width, std::span<const std::int64_t> rows,
                      std::span<const double> origin, Normalization& normalization);

}  // namespace lanista::data
