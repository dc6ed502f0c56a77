#pragma once

#include <iosfwd>

#include "lanista/base/result.h"
#include "lanista/bench/bench.h"

namespace lanista::bench {

/// Simulated: the jobs of a workload of Pollux's artefact (--file) on 16 nodes of 4 devices, with its traces (--data).
/// Arms: tiresias, optimus (knows all), pollux (--seeds of its search), ours, and bound; between them what ours is made
/// of, one improvement after the other; value: average completion time in seconds, beside it the 99th percentile and
/// the makespan. Cases (--case): `completion`, `sensitivity` (what jobs or policies believe is wrong), `speed`
/// (milliseconds of a fit, and of decisions). It fails where a course ends before the bound.
Result<void> cluster(const Request& request, std::ostream& out);

/// Its case `speed`: needs no files.
Result<void> cluster_speed(const Request& request, std::ostream& out);

}  // namespace lanista::bench
