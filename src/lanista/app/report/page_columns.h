#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista::report {

// Packed columns of the page's data: little-endian numbers in base64, with a third of the bytes of their text. A column
// of one repeated whole number is {"same": value}.

/// Returns the base64 form of `bytes` (RFC 4648, with padding).
std::string base64(std::string_view bytes);

/// Returns whole numbers as {"u": width, "d": base64}, or as {"same": value} if all are equal. The width is 1 to 4
/// bytes a number, the smallest that holds all. Values must be from 0 to 2^32 - 1; others are moved to the bound.
nlohmann::json packed_integers(std::span<const std::int64_t> values);

/// Returns the mark of a missing value in a column of real numbers: a NaN with another sign than that of NaN results.
double absent();

/// Returns real numbers as {"f": width, "d": base64}: the upper `width` bytes (3 or 4) of each number as a float,
/// rounded to nearest. Infinities, NaN and missing values stay what they are. Three bytes give 4.8 decimal digits, four
/// 7.2.
nlohmann::json packed_reals(std::span<const double> values, int width);

/// Returns texts as {"names": […], "of": packed integers}; `of` has the index into `names` of each value. `names` has
/// each distinct text once, cut after 200 bytes: index 0 is the empty text, then come those of `known`, then the others
/// in the order of appearance. Beyond 4,000 names all other texts become "other".
nlohmann::json packed_names(std::span<const std::string> values, std::span<const std::string> known = {});

/// Returns JSON as text for a script element: ASCII only, with "<" as \u003c. Bytes that are not UTF-8 are replaced.
std::string script_json(const nlohmann::json& data);

/// Returns the text if it has at most `bytes` bytes. Else it returns at most its first `bytes` bytes, cut between
/// characters, followed by "…".
std::string clip_utf8(std::string_view text, std::size_t bytes);

}  // namespace lanista::report
