#pragma once

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// An interval inside [0, 1].
struct UnitInterval {
  double lo = 0;  ///< lower end, in [0, 1]
  double hi = 0;  ///< upper end, in [0, 1]
};

// Maps each domain to the unit interval, for samplers over real vectors. A uniform u gives the distribution of
// RandomChooser, and logarithmic domains are linear in u.

/// Returns the value of the domain at position u in [0, 1]. u = 1 gives the last value. Another u is a bug of the
/// caller.
Value value_at(const Domain& domain, double u);

/// Returns the interval of all u for which value_at() gives `value`. Its length is the probability of the value, which
/// is 0 in a continuous domain. A value that the domain lacks is a bug of the caller.
UnitInterval unit_cell(const Domain& domain, const Value& value);

/// Returns one u for which value_at() gives `value`, for reals up to rounding. A value that the domain lacks is a bug.
///
/// In a finite domain with equally probable values, it is the middle of the interval of unit_cell(). Otherwise it is
/// the position of the value, or of its logarithm, between the bounds of the domain. Integers have half a unit more on
/// both sides.
double unit_position(const Domain& domain, const Value& value);

}  // namespace lanista::space
