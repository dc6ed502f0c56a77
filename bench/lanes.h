#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Trials that stop early, in the lanes of one program: a scripted stop list (81 to 27, 9, 3, 1) and a stream of 300.
/// Arms: `masked` (stopped lanes stay empty until all are done), `compacted` (a program with half of the lanes as soon
/// as they suffice), `refilled` (a free lane takes the next trial; compacted when none is left). Rows: microseconds a
/// lane and step, and the occupancy of the lanes in per cent. Errors: kInternal if arms end with different weights.
Result<void> lanes(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
