#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `overhead`: milliseconds a trial for engine, strategy and log, with trainings that do nothing.
///
/// Studies have 1,000, 10,000 and 100,000 trials. The cases are trials with one epoch (`trials`), a rung with 1,000
/// paused trials (`thousand-pending`), and 1,000 trials at a time (`thousand-at-once`). The arms are:
/// - ours: the log is written to disk, as in every study
/// - memory: the log is kept in memory
/// - processes: as ours, with two worker processes that receive every command; up to 10,000 trials
///
/// Errors: those of the engine.
Result<void> overhead(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
