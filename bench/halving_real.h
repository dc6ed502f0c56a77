#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Successive halving of 27 different models on two workers, really trained, and what is known of it beforehand. Arms:
/// `ours`, all trials of a rung under way; `fifo`, one trial a worker in order of arrival. `ours-simulated`,
/// `fifo-simulated`: schedule::simulate on seconds an epoch that a short run of the same proposals gave before.
/// `ours-bound`: rung by rung the least that two workers need for what `ours` measured. Seconds, and quotients round by
/// round: `simulated/real` of both, `fifo/ours`, `ours/bound`. Errors: those of train_study; kInternal (arms differ in
/// a decision or a measurement).
Result<void> halving_real(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
