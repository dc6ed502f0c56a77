#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `prefix`: K models that share augmented digits, K = 1, 2, 4, 8, 16.
///
/// They train one after the other on one thread (measure_sharing). Arm `apart` augments for each model. Afterwards
/// frozen_prefix() runs. Errors: those of measure_sharing().
Result<void> prefix(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
