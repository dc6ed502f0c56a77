#pragma once

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// A part of the unit interval.
struct UnitInterval {
  double lo = 0;  ///< lower end, in [0, 1]
  double hi = 0;  ///< upper end, in [0, 1]
};

// Maps each domain to the unit interval, for samplers over real vectors. A uniform u gives the distribution of
// RandomChooser, and logarithmic domains are linear in u.

/// The value of the domain at u in [0, 1]. u = 1 gives the last value.
Value value_at(const Domain& domain, double u);

/// The interval of all u that give `value`. Its length is the probability of the value, which is 0 in a continuous
/// domain. The value must be in the domain.
UnitInterval unit_cell(const Domain& domain, const Value& value);

/// The point of the unit interval for `value`, so that value_at() returns the value, for reals up to rounding.
///
/// It is the middle of the cell if all values are equally probable. Otherwise it is the position of the value, or of
/// its logarithm, between the bounds.
double unit_position(const Domain& domain, const Value& value);

}  // namespace lanista::space
