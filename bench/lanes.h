#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `lanes`: trials that stop early in the lanes of one program.
///
/// The cases are a halving from 81 trials to 27, 9, 3 and 1, and a stream of 300 trials. The arms are:
/// - masked: the lane of a stopped trial stays empty until all trials have stopped
/// - compacted: the trials move to a program with fewer lanes when half of the lanes suffice
/// - refilled: a free lane gets the next trial; without a next trial as compacted
///
/// Rows: microseconds a lane and step, and the occupancy of the lanes in percent. Errors: kInternal if arms end with
/// different weights.
Result<void> lanes(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
