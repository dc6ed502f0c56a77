#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `fuse`: request.lanes models of a training case at once (1, 2, 4, … 64).
///
/// Each model has its own weights and rate. All use one batch. The value is microseconds a model-step. The arms on one
/// thread are:
/// - loop, loop-nhwc: a LibTorch loop for each model (torch_loop.h), eight steps of each in turn
/// - single: a lanista program for each model, eight steps of each in turn
/// - auto-1: the models as lanes of one program
///
/// The arms on two threads are as follows. With one model there is only auto, on one thread.
/// - processes: two processes with half of the models each, as in single
/// - packed: two threads of one process with half of the models each, as in single
/// - auto: the models as lanes of two programs, as lanista trains them
///
/// Further rows: limits as in train_step(); speedup-2 of auto over auto-1; bytes of the programs (auto-bytes,
/// single-bytes); milliseconds to compile them (auto-plan, single-plan).
///
/// All arms start from the same weights. The lanista arms must agree to the bit over the first steps, and the loops to
/// 1e-4 (relative) over 20 steps. Errors: kNotFound for a case; kInternal if arms disagree; kIo if a process cannot
/// start. It forks, so no other thread may run.
Result<void> fuse(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
