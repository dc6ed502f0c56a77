#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// K models that share what stands in front of them, K = 1, 2, 4, 8, 16, one after the other on one thread, as
/// measure_sharing says: first the same augmented digits, where `separate_arms` augments for every model, then
/// frozen_prefix.
Result<void> prefix(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
