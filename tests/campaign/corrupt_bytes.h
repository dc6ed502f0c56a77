#pragma once

#include <string>

#include "lanista/base/rng.h"

namespace lanista::campaign {

/// The bytes after one to four accidents: flips, cuts, insertions, repetitions, a piece of `other`, numbers that are
/// too large, words of the format in other places.
std::string corrupted_bytes(const std::string& bytes, const std::string& other, Rng& rng);

/// The same to the payloads of a log's records, whose checksums are then right again; records may also be dropped,
/// doubled and exchanged.
std::string forged_log(const std::string& bytes, Rng& rng);

}  // namespace lanista::campaign
