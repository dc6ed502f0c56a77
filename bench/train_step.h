#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Microseconds a model-step of the training cases (cases.h), one thread unless the arm's name says otherwise. Arms:
/// - ours: our program with one lane
/// - ours-2: two threads with a program each
/// - loop, loop-nhwc: a LibTorch loop written by hand (torch_loop.h); the second, for images, in channels-last memory
/// - limit-flops, limit-bytes: the work no program can avoid (step_work.h) at the measured peak of one core, and at its
///   measured reading speed in the nearest level of memory that holds what the step uses
/// - speedup-2 ("x"): what the second thread gains (speedup.h), and case `machine`: what it gains for multiply-adds
/// All start from the same weights, and over the first 20 steps losses must agree: ours to the bit, the loops' to 1e-4
/// (relative). Errors: kNotFound for a case; kInternal where arms disagree.
Result<void> train_step(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
