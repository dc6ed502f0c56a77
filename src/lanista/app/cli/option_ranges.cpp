#include <charconv>
#include <optional>

#include "lanista/base/printable.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string text_of(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

// CLI11 puts the option's name before what is said here.
std::string range_message(const std::string& seen, const std::string& expected) {
  return "'" + printable_lines(seen, 1, 60) + "' is not allowed; allowed: " + expected;
}

}  // namespace

CLI::Validator integer_between(std::int64_t least, std::int64_t most) {
  const std::string bounds = std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator(
      [=](std::string& seen) {
        const auto value = parse<std::int64_t>(seen);
        return value && *value >= least && *value <= most ? "" : range_message(seen, "a whole number from " + bounds);
      },
      "");
}

CLI::Validator number_between(double least, double most) {
  const std::string bounds = text_of(least) + " to " + text_of(most);
  return CLI::Validator(
      [=](std::string& seen) {
        const auto value = parse<double>(seen);  // "nan" and "inf" are numbers to it
        const bool fits = value && *value >= least && *value <= most;
        return fits ? "" : range_message(seen, "a number from " + bounds);
      },
      "");
}

}  // namespace lanista::cli
