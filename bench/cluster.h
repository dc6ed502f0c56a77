#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Simulated: the jobs of a workload of Pollux's artefact (--file) on 16 nodes of 4 devices, with its traces (--data).
/// Arms: tiresias, optimus (knows all), pollux (--seeds of its search), ours, and bound; between them what ours is made
/// of, one improvement after the other; value: average completion time in seconds, beside it the 99th percentile and
/// the makespan. Cases (--case): `completion`, `sensitivity` (what jobs or policies believe is wrong), `speed`
/// (milliseconds of a fit, and of decisions), `search` (groups of trials that end together). It fails where a course
/// ends before the bound.
Result<void> cluster(const BenchRequest& request, std::ostream& out);

/// Its case `search`, on --data alone: groups of 4 to 64 trials of one application, 0.5 to 2 times as long as it is,
/// all there from the beginning; --seeds groups of a size (default: 3). Arms: equal shares (`static`), Fluid's two
/// formulas, pollux, `budget`, `combined` (bisection, cluster/barrier.h), all of which know how long trials are and
/// share what they measured; `bisection` (widths that never change, all known, nothing charged) and `bound` (all
/// policies). Values: makespan; `-best`: when a trial ends on average, and any is as likely to be the best; `-devices`:
/// hours of devices.
Result<void> cluster_search(const BenchRequest& request, std::ostream& out);

/// Its case `speed`: needs no files.
Result<void> cluster_speed(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
