#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Flips each bit of the log of a small study, and cuts the log at each length.
///
/// This process reads each damaged log: it is refused, or its records are the first ones of the original. The program
/// reads each `stride`-th one: verbs that read change nothing, and `resume` either refuses the log without a change or
/// ends with the original result. Returns true if all checks passed.
bool run_log_damage(const std::string& lanista, std::uint64_t stride, std::uint64_t seed);

}  // namespace lanista::campaign
