#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// K heads on one frozen backbone, K = 1, 2, 4, 8, 16, on the digits and on the digits at 28x28, as measure_sharing
/// says: `separate_arms` computes the backbone for every model and batch, `shared` once an epoch, `materialised` reads
/// values that are kept. Keeping them takes the microseconds of `store`, once.
Result<void> frozen_prefix(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
