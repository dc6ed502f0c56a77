#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// Returns the number of single-byte insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment). Case matters. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate that a user most likely meant by `word`, for error messages; an empty text if there is none.
///
/// The first choice is the only candidate that is equal but for the case of ASCII letters; the second a candidate at
/// edit distance 0 or 1. Then come the only candidate that begins with `word`, from three bytes on, and the first
/// candidate at the smallest distance. A candidate at a distance of more than a third of the longer length, rounded up,
/// does not count. A word of more than 64 bytes, or an empty one, matches nothing. A candidate of more than 64 bytes
/// matches only by its beginning or its case.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace lanista
