#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `train-step`: microseconds a model-step of the training cases (cases.h).
///
/// The arms are:
/// - ours: a lanista program with one lane, on one thread
/// - ours-2: two threads with one such program each
/// - loop: a LibTorch loop (torch_loop.h), on one thread
/// - loop-nhwc: the same in channels-last memory, for images only
/// - limit-flops: the arithmetic of step_work.h at the measured peak of one core
/// - limit-bytes: the memory traffic of step_work.h at the measured read speed of the nearest level that holds it
/// - speedup-2 ("x"): the speedup by a second thread (speedup.h); the case `machine` gives its limit
///
/// All arms start from the same weights. Over the first 20 steps, the losses of lanista arms must agree to the bit, and
/// those of the loops to 1e-4 (relative). Errors: kNotFound for a case; kInternal if arms disagree.
Result<void> train_step(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
