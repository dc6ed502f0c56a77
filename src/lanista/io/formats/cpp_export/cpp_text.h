#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Pieces of C++ source text.
namespace lanista::formats {

using CppValues = std::map<std::string, std::string, std::less<>>;  ///< texts by $name

/// The text with each $name (letters and underscores) replaced. A name without a value is a bug.
std::string cpp_fill(std::string_view text, const CppValues& values);

/// The text with every non-empty line indented by `columns`.
std::string cpp_indent(std::string_view text, std::size_t columns);

/// Nested loops around `body`, with the counters i0, i1, … below `dims`.
std::string cpp_loops(const std::vector<std::int64_t>& dims, std::string_view body);

// Exact literals of finite numbers.
std::string cpp_hex(float value);     ///< hexadecimal: "-0x1.8p+1f"
std::string cpp_hex(double value);    ///< hexadecimal: "0x1p-3"
std::string cpp_float(double value);  ///< the nearest float in decimals: "1e-05f", "3.0f"

/// A string literal for any bytes.
std::string cpp_string(std::string_view text);

}  // namespace lanista::formats
