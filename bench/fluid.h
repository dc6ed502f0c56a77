#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `fluid`: schedulers of trials on 4 to 64 equal workers, simulated.
///
/// Arms are first come, longest first, Fluid's formulas as published, uniform redistribution and the elastic scheduler
/// (`ours`). The value is the makespan over the dual bound, the mean over seeds. `ours-elastic` divides by the bound
/// that also holds for schedules with changing widths. Cases are single groups ("group-32-of-16": 32 trials on 16
/// workers) and whole tuning algorithms ("syncbohb-16").
///
/// With request.worst the cases are 1,000 random groups. Predictions are wrong by up to 50 %, and a change of width
/// needs up to 30 % of a trial's time. The value is the makespan over that of first come: the worst, the mean, and the
/// number of groups above 1.02. The scheduler gets correct predictions never, or after 5 % of a trial. In a third
/// variant it gets neither these nor the pace of the trials.
///
/// Errors: kInternal if a schedule ends before its bound.
Result<void> fluid(const BenchRequest& request, std::ostream& out);

/// Benchmark `profiles`: 1,000 measured models on 4 GPUs, simulated.
///
/// The table of --file has the columns step_seconds_median, gpu_utilisation_mean and peak_memory_fraction. The value is
/// the makespan over the ideal bound, with a barrier after every 50 models and without barriers. Errors:
/// kInvalidArgument without a file; kDataLoss and kNotFound for a wrong table; kInternal if a schedule ends before its
/// bound.
Result<void> profiles(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
