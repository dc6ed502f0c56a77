#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lanista/base/printable.h"

namespace lanista::cli {

/// The abilities of stderr as a terminal. Output has no colours.
struct Terminal {
  bool live = false;  ///< True: it is a terminal that can redraw lines (TERM is not dumb).
  int columns = 80;   ///< Width of a line in characters.
};
/// Returns the abilities of stderr of this process, from the system, TERM and COLUMNS. COLUMNS below 20 has no effect.
Terminal detect_terminal();

/// Returns seconds, without their fraction, as minutes or hours: "1:05", "2:03:04".
std::string clock_text(double seconds);
/// Returns a number as a short text: rounded to an integer below 10000 ("9853"), else with one decimal in k or, from a
/// million on, in M: "11.8k", "4.1M".
std::string short_number(double value);

/// Returns a measured number with at least four significant digits: "0.9700", "12.34", "54321", "3.836e+08",
/// "1.235e-05".
std::string four_digits(double value);

/// Returns `text` as one printable line of at most `max_columns` columns. Messages that quote a stored text use it, so
/// that a newline in that text never starts a new line.
std::string one_line(std::string_view text, std::size_t max_columns = 1000);

/// Returns `text` with each byte of a character that `printable` would replace written as "\xHH"; the rest is
/// unchanged.
std::string escape_controls(std::string_view text);

/// Returns `text` as one argument of a shell command, quoted if necessary.
std::string shell_word(std::string_view text);

/// Returns one line of JSON in ASCII, with a newline: other characters are escaped, bytes that are not UTF-8 are
/// replaced.
std::string json_line(const nlohmann::json& value);

}  // namespace lanista::cli
