#include "lanista/app/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace lanista::cli {

Terminal detect_terminal() {
  Terminal terminal;
  const char* term = std::getenv("TERM");
  terminal.live = ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.columns = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const int wished = std::atoi(columns); wished >= 20) terminal.columns = wished;
  }
  return terminal;
}

std::string clock_text(double seconds) {
  const auto total = static_cast<long>(seconds);
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
  }
  return text;
}

std::string short_number(double value) {
  char text[32];
  if (value >= 1e6) {
    std::snprintf(text, sizeof text, "%.1fM", value / 1e6);
  } else if (value >= 1e4) {
    std::snprintf(text, sizeof text, "%.1fk", value / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.0f", value);
  }
  return text;
}

std::string four_digits(double value) {
  char text[32];
  const double size = std::abs(value);
  if (size >= 999.95 && size < 1e6) {
    std::snprintf(text, sizeof text, "%.0f", value);  // shorter and plainer than 5.432e+04
  } else {
    std::snprintf(text, sizeof text, "%#.4g", value);  // with trailing zeros, so that columns align
  }
  return text;
}

std::string one_line(std::string_view text, std::size_t max_columns) {
  std::string line(text);
  std::ranges::replace(line, '\n', '\x7f');  // becomes '?', as every control character does
  return printable_lines(line, std::string::npos, max_columns);
}

std::string escape_controls(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = 1;  // of the character: up to the next byte that is not a continuation byte
    while (at + bytes < text.size() && (static_cast<unsigned char>(text[at + bytes]) & 0xc0U) == 0x80U) ++bytes;
    const std::string_view character = text.substr(at, bytes);
    if (printable(character) == character) {
      out += character;
    } else {
      for (const char byte : character) {
        char code[8];
        std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        out += code;
      }
    }
    at += bytes;
  }
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string json_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lanista::cli
