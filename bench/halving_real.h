#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `halving-real`: successive halving of 27 different models on two workers, trained and simulated.
///
/// Arm `ours` trains all trials of a rung in turn. Arm `fifo` trains one trial a worker in the order of arrival.
/// `ours-simulated` and `fifo-simulated` are plan::simulate with the seconds an epoch of a short run of the same
/// proposals. `ours-bound` is the least time of two workers for the times of `ours`, rung by rung. Values are seconds.
/// Quotients are by round: simulated over real, `fifo/ours` and `ours/bound`. Errors: those of train_study; kInternal
/// if arms differ in a decision or a measurement.
Result<void> halving_real(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
