#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Storms of signals over small studies: each is struck at random moments, gone on with, and struck again, while others
/// read it or want it too; in the end it must be the study that nobody disturbed. Whether all held.
bool run_signal_stress(const std::string& lanista, std::int64_t count, std::uint64_t seed);

}  // namespace lanista::campaign
