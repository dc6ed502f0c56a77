#pragma once

#include "lanista/base/portable_math.h"

namespace lanista::strategy {

/// Mass of the standard normal between lo <= hi; of the two equal forms the one that does not cancel.
double normal_mass(double lo, double hi);

/// A normal, cut off outside of the unit interval.
struct TruncatedNormal {
  double mean = 0.5;     ///< in [0, 1]
  double deviation = 1;  ///< > 0, before it is cut

  /// Of the uncut normal between 0 and 1: what its density is divided by.
  double mass() const { return normal_mass(-mean / deviation, (1 - mean) / deviation); }
  /// The value below which a part `u` of it lies, u in [0, 1).
  double quantile(double u) const;
};

}  // namespace lanista::strategy
