#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Simulated: trials on 4 to 64 equal workers under first come, longest first, Fluid's formulas as printed, uniform
/// redistribution and our scheduler; value: makespan over the dual bound, mean over seeds. Cases are single groups
/// ("group-32-of-16": 32 trials on 16 workers) and whole tuning algorithms ("syncbohb-16"). Arm `ours-elastic` is ours
/// over the bound that also holds for schedules which change widths. With request.worst: 1,000 random groups with
/// predictions off by up to 50 % and changes of width that cost up to 30 % of a trial; makespan over first come's, the
/// worst (spread: of all), where nobody corrects predictions, where they are corrected after 5 % of a trial, and where
/// not even the pace of trials can be seen. It fails where a schedule ends before the bound.
Result<void> fluid(const BenchRequest& request, std::ostream& out);

/// Simulated on measured profiles (--file: columns step_seconds_median, gpu_utilisation_mean, peak_memory_fraction):
/// makespan over the ideal bound on 4 GPUs, with a barrier behind every 50 models and without.
Result<void> profiles(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
