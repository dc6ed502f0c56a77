#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Part of benchmark `prefix`: K heads on one frozen backbone, K = 1, 2, 4, 8, 16.
///
/// The samples are the digits, also scaled to 28x28 (measure_sharing). Arm `apart` computes the backbone for each model
/// and batch, `shared` once an epoch. `materialised` reads stored outputs of the backbone, and `store` is the time to
/// compute them once, in microseconds. Errors: those of measure_sharing().
Result<void> frozen_prefix(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
