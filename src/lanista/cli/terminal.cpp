#include "lanista/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace lanista::cli {

Terminal detect_terminal(bool no_color) {
  Terminal terminal;
  const char* term = std::getenv("TERM");
  terminal.live = ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  const char* no_color_wish = std::getenv("NO_COLOR");
  terminal.color = terminal.live && !no_color && (no_color_wish == nullptr || *no_color_wish == '\0');
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.columns = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const int wished = std::atoi(columns); wished >= 20) terminal.columns = wished;
  }
  return terminal;
}

std::string bold(const Terminal& terminal, std::string_view text) {
  return terminal.color ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
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

std::string json_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lanista::cli
