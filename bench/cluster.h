#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `cluster`: allocators of cluster devices, simulated.
///
/// The jobs are a workload of Pollux's artefact (--file) with its traces (--data), on 16 nodes of 4 devices. Arms are
/// `tiresias`, `optimus` (it knows true times and steps), `pollux` (--seeds searches), the steps from there to `ours`,
/// and `bound`. The value is the average completion time in seconds; further rows give the 99th percentile and the
/// makespan.
///
/// Cases (--case):
/// - `completion`: the default
/// - `sensitivity`: jobs or policies use wrong values
/// - `speed`: cluster_speed()
/// - `search`: cluster_search()
///
/// Errors: kInvalidArgument without the files; kInternal if a simulation ends before the bound.
Result<void> cluster(const BenchRequest& request, std::ostream& out);

/// The case `search`: groups of trials that arrive together.
///
/// A group has 4 to 64 trials of one application, with 0.5 to 2 times its length. There are --seeds groups of each size
/// (default 3). It needs --data only. Arms are `static` (equal shares), `static-fluid` and `dynamic-fluid` (Fluid's two
/// formulas), `pollux`, `budget` and `combined` (group_end_allocator.h). They all know the lengths of the trials and
/// share what they measured.
///
/// Two more rows are limits. `bisection` keeps each width from begin to end, with all times known and no cost of a
/// start. `bound` holds for all policies. Values: the makespan; `-best`, the mean time at which a trial ends;
/// `-devices`, hours of devices.
Result<void> cluster_search(const BenchRequest& request, std::ostream& out);

/// The case `speed`: milliseconds of a fit and of decisions. It needs no files.
Result<void> cluster_speed(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
