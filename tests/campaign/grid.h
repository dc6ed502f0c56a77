#pragma once

#include <string>

namespace lanista::campaign {

/// Every strategy with every number of workers and lanes, twice: all studies of a strategy must be the same to the bit.
/// `few`: two pairs of workers and lanes instead of nine. Whether all held.
bool run_grid(const std::string& lanista, bool few);

}  // namespace lanista::campaign
