#pragma once

#include "lanista/base/portable_math.h"

namespace lanista::search {

/// Returns the mass of the standard normal between lo and hi. Needs lo <= hi. In either tail it keeps its precision.
double normal_mass(double lo, double hi);

/// A normal distribution that is truncated to the unit interval.
struct TruncatedNormal {
  double mean = 0.5;     ///< Mean before truncation, in [0, 1].
  double deviation = 1;  ///< Standard deviation before truncation, positive.

  /// Returns the mass of the normal between 0 and 1 before truncation, by which the density is divided.
  double mass() const { return normal_mass(-mean / deviation, (1 - mean) / deviation); }
  /// Returns the value below which a share `u` of the distribution lies. Needs u in [0, 1).
  double quantile(double u) const;
};

}  // namespace lanista::search
