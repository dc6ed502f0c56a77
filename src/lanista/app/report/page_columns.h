#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista::report {

// Columns of the page's tables, packed: little-endian numbers in base64, which a browser unpacks in milliseconds and
// which take a third of their text. A column of one repeated value is {"same": value}.

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

/// {"u": width, "d": base64} with 1 to 4 bytes a number, the fewest that hold all. Needs 0 <= values < 2^32; what lies
/// outside is moved to the bound.
nlohmann::json packed_integers(std::span<const std::int64_t> values);

/// How a value that is not there is told from one that is not a number.
double absent();
bool is_absent(double value);

/// {"f": width, "d": base64}: the upper `width` bytes (3 or 4) of each number as a float, rounded to nearest;
/// infinities, NaN and absent values keep their kind. Three bytes are some 4.8 decimal digits, four some 7.2.
nlohmann::json packed_reals(std::span<const double> values, int width);

/// {"names": […], "of": packed integers}: each distinct text once, in the order of `known`, then of appearance; index 0
/// is the empty text. Beyond 4,000 distinct ones the rest is called "other".
nlohmann::json packed_names(std::span<const std::string> values, std::span<const std::string> known = {});

/// JSON as text that may stand inside a script element: pure ASCII, "<" is written \u003c.
std::string script_json(const nlohmann::json& data);

/// At most `bytes` bytes of a text that may be any length, cut between characters and ended by "…".
std::string clip_utf8(std::string_view text, std::size_t bytes);

}  // namespace lanista::report
