#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Milliseconds a trial that engine, strategy and log cost by themselves: studies of 1,000, 10,000 and 100,000 trials
/// whose training does nothing; one epoch a trial, a thousand trials that rest at a rung, a thousand under way at once.
/// Arms: `ours` writes the log to disk as always, `memory` keeps it in memory,
/// `processes` (up to 10,000 trials) writes it to disk and sends every order and report through two worker processes.
Result<void> overhead(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
