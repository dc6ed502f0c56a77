#pragma once

#include <string>

#include "lanista/base/rng.h"

namespace lanista::campaign {

/// Returns `bytes` with one to four random changes.
///
/// Changes are flipped bits, cuts, insertions, repetitions, a piece of `other`, numbers that are too large or NaN, and
/// words of the format at other positions.
std::string corrupted_bytes(const std::string& bytes, const std::string& other, Rng& rng);

/// Returns a log with changed records and correct checksums. Records may also be dropped, doubled and exchanged.
std::string forged_log(const std::string& bytes, Rng& rng);

}  // namespace lanista::campaign
