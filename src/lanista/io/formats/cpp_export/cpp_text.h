#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Pieces of C++ source text.
namespace lanista::formats {

/// The texts that replace the $names of a template of C++ source, by name without the $.
using CppValues = std::map<std::string, std::string, std::less<>>;

/// `text` with each $name (lower-case letters and underscores) replaced by its value. A name without a value throws
/// InternalError.
std::string cpp_fill(std::string_view text, const CppValues& values);

/// `text` with `columns` spaces in front of every line that is not empty.
std::string cpp_indent(std::string_view text, std::size_t columns);

/// C++ text of nested loops around `body`, one for each of `dims`: counter i0 from 0 to dims[0] - 1 is the outermost.
std::string cpp_loops(const std::vector<std::int64_t>& dims, std::string_view body);

// C++ literals of finite numbers; other numbers throw InternalError.
std::string cpp_hex(float value);   ///< exact, hexadecimal: "-0x1.8p+1f"; throws InternalError if not finite
std::string cpp_hex(double value);  ///< exact, hexadecimal: "0x1p-3"; throws InternalError if not finite
/// The nearest float in decimals: "1e-05f", "3.0f". Throws InternalError if that is not finite.
std::string cpp_float(double value);

/// An array of exact numbers, several in each line.
template <class T>
std::string cpp_array(const std::string& type, const std::string& name, std::span<const T> values) {
  std::string out = "\ninline constexpr " + type + " " + name + "[" + std::to_string(values.size()) + "] = {";
  std::size_t column = 120;
  for (const T value : values) {
    const std::string text = cpp_hex(value) + ",";
    column += 1 + text.size();
    if (column > 118) {
      out += "\n   ";
      column = 3 + 1 + text.size();
    }
    out += " " + text;
  }
  return out + "\n};\n";
}

/// A C++ string literal, with quotes, for any bytes.
std::string cpp_string(std::string_view text);

}  // namespace lanista::formats
