#pragma once

#include <string>

namespace lanista::campaign {

/// Runs each strategy with nine pairs of numbers of workers and lanes, twice each (`few`: with two pairs).
///
/// All studies of one strategy must have equal bits. Returns true if all checks passed.
bool run_grid(const std::string& lanista, bool few);

}  // namespace lanista::campaign
