#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Microseconds a model-step for request.lanes models of a training case (1, 2, 4, … 64), each with its own weights and
/// rate, on one batch. One thread:
/// - loop, loop-nhwc: a LibTorch loop (torch_loop.h) a model, taking turns of eight steps
/// - single: a program of our own a model, taking turns likewise
/// - auto-1: the models as lanes of one program
/// Two threads; of one model only auto is left, which then has one:
/// - processes: two processes with half of the models each, as single
/// - packed: two threads of one process with half of the models each, as single
/// - auto: what lanista does, the models as lanes
/// Beside them limits and speedup-2 as in train_step (of auto over auto-1; of one model, as there); bytes of programs
/// (auto-bytes, single-bytes) and what it took to compile them (auto-plan, single-plan, "ms"). All start from the same
/// weights; over the first steps ours agree to the bit, over 20 the loops to 1e-4 (relative). Errors: kNotFound for a
/// case; kInternal where arms disagree; kIo without processes. Starts those, so it must be called from the only thread.
Result<void> fuse(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
