#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Sends random signals to `count` small studies at random moments, and resumes them.
///
/// Other processes read each study or try to resume it too. Each must end with the result of an undisturbed study.
/// Returns true if all checks passed.
bool run_signal_stress(const std::string& lanista, std::int64_t count, std::uint64_t seed);

}  // namespace lanista::campaign
