#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lanista/base/printable.h"

namespace lanista::cli {

/// What stderr can do: a live block only on a terminal that is not dumb; colour unless NO_COLOR or --no-color.
struct Terminal {
  bool live = false;
  bool color = false;
  int columns = 80;
};
Terminal detect_terminal(bool no_color);

/// `text` in bold, if the terminal has colour.
std::string bold(const Terminal& terminal, std::string_view text);

/// "1:05", "2:03:04".
std::string clock_text(double seconds);
/// "853", "11.8k", "4.1M".
std::string short_number(double value);

/// One line of JSON that any terminal may show: everything beyond ASCII escaped, bytes that are no UTF-8 replaced.
std::string json_line(const nlohmann::json& value);

}  // namespace lanista::cli
