#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// A study of two worker processes whose workers are killed and stopped at random moments, over and over, until there
/// were so many kills and stops; each time it must be the study that nobody disturbed, trained by threads. `halving` is
/// its stopping rule, as in a study file. Whether all held.
bool run_worker_signal_stress(const std::string& lanista, std::int64_t kills, std::int64_t stops,
                              const std::string& halving, std::uint64_t seed);

}  // namespace lanista::campaign
