#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// What sharing saves a whole Hyperband (R = 27, eta = 3, 49 trials) on two workers, really trained. Arms: `plain`, a
/// trial at a time on a worker, each preparing its own samples; `packed`, the same programs, but prepared samples are
/// shared by all trials; `fused`, trials of one program are its lanes besides. The log must be the same to the byte.
/// Rows: seconds of the study, `plain/packed` and `plain/fused` as quotients round by round, and `limit`: what sharing
/// samples alone could give at most (Pack, DEEM'21: sum t_i / (t_in + sum (t_i - t_in))), with t_in and t_i as measured
/// in `plain`. Errors: those of train_study; kInternal (arms differ in what they decided).
Result<void> pack_hyperband(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
