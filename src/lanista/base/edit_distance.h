#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// Number of one-letter insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment). It compares bytes; case matters. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate that a user most likely meant by `word`, for error messages; empty if there is none.
///
/// The order of preference is: a candidate at edit distance 1; the only candidate that begins with `word`, from three
/// letters on; the first candidate at the smallest distance. A candidate further than a third of the longer length does
/// not count. Words of more than 64 letters have no neighbour.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace lanista
