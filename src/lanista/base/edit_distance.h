#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// Number of single-letter insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment). Bytes, case matters. O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate a person most likely meant by `word`, for error messages: one that is a slip away, else the only one
/// that begins with it (three letters and more), else the one at the smallest distance, the first of several, and empty
/// if none is within a third of the longer length. Words beyond 64 letters have no neighbour.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace lanista
