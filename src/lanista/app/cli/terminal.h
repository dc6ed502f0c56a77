#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lanista/base/printable.h"

namespace lanista::cli {

/// What stderr can do: a live block only on a terminal that is not dumb. Nothing is ever coloured.
struct Terminal {
  bool live = false;
  int columns = 80;
};
Terminal detect_terminal();

/// "1:05", "2:03:04".
std::string clock_text(double seconds);
/// "853", "11.8k", "4.1M".
std::string short_number(double value);

/// A measured number with at least four digits that count: "0.9700", "12.34", "54321", "3.836e+08", "1.235e-05".
std::string four_digits(double value);

/// `text` as one printable line of at most `max_columns` columns. A message that quotes a stored text goes through
/// here, so that a newline in that text never starts a line of its own.
std::string one_line(std::string_view text, std::size_t max_columns = 1000);

/// `text` with each byte of a character that `printable` would replace written as "\xHH"; the rest is unchanged.
std::string escape_controls(std::string_view text);

/// `text` as one word of a command that a person copies into a shell.
std::string shell_word(std::string_view text);

/// One line of JSON that any terminal may show: everything beyond ASCII escaped, bytes that are no UTF-8 replaced.
std::string json_line(const nlohmann::json& value);

}  // namespace lanista::cli
