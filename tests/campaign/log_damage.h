#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Every bit of a small study's log is flipped and the log is cut at every length. In this process, all of them: what
/// is then read is a beginning of what was written, or refused. By the program, every `stride`-th byte and length:
/// verbs that read answer and change nothing; `resume` refuses and changes nothing, or comes to the same end. Whether
/// all held.
bool run_log_damage(const std::string& lanista, std::uint64_t stride, std::uint64_t seed);

}  // namespace lanista::campaign
