#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace lanista {

/// Reads all of `text` as a number in the notation of std::from_chars: no blanks and no plus sign, and a real number
/// may be "inf" or "nan". Returns nullopt if the text has another form, or if the number does not fit into `Number`.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace lanista
