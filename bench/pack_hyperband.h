#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `pack-hyperband`: the time that sharing saves in a whole Hyperband.
///
/// A study of 49 trials (R = 27, eta = 3) is trained on two workers. The arms are:
/// - plain: a worker trains one trial at a time, and each trial prepares its own samples
/// - packed: the same programs, with prepared epochs that all trials share
/// - fused: as packed, with the trials of a program as its lanes
///
/// Rows: seconds of the study, and the quotients `plain/packed` and `plain/fused` round by round. `limit` is the most
/// that shared samples can save, sum t_i / (t_in + sum (t_i - t_in)), with the times of plain (Pack, DEEM'21).
///
/// Errors: those of train_study; kInternal if the canonical exports of the arms differ.
Result<void> pack_hyperband(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
