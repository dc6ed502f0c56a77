#pragma once

#include "lanista/model/space/domain.h"

namespace lanista::space {

/// A part of the unit interval.
struct UnitInterval {
  double lo = 0, hi = 0;
};

// Every domain as the unit interval, for searches that think in numbers: uniform in it is what RandomChooser draws, and
// logarithmic domains are linear in it.

/// The value at u in [0, 1]; u = 1 is the last one.
Value value_at(const Domain& domain, double u);

/// All u that give the value: as long as the value is probable, empty (lo == hi) in a continuous domain. The value must
/// be in the domain.
UnitInterval unit_cell(const Domain& domain, const Value& value);

/// The place that stands for the value: the middle of its cell, in a logarithmic domain the value's own logarithm.
/// value_at gives the value back; for reals up to rounding.
double unit_position(const Domain& domain, const Value& value);

}  // namespace lanista::space
