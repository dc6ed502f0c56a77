#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Runs studies with two worker processes, and kills and stops workers at random moments.
///
/// Ends after at least `kills` kills and `stops` stops, fewer for each study than make a trial fail by design. A worker
/// without a signal is lost only if the machine delays its heartbeats by 3 s.
/// Each study must have the result of an undisturbed study of
/// threads. `halving` is the stopping rule, as in a study file. Returns true if all checks passed.
bool run_worker_signal_stress(const std::string& lanista, std::int64_t kills, std::int64_t stops,
                              const std::string& halving, std::uint64_t seed);

}  // namespace lanista::campaign
