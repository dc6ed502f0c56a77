#include <charconv>
#include <optional>

#include "lanista/app/cli/verbs.h"
#include "lanista/base/parse_number.h"
#include "lanista/base/printable.h"

namespace lanista::cli {
namespace {

constexpr std::int64_t kShownBound = 1'000'000'000;

std::string text_of(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

// CLI11 puts the option's name before this text.
std::string range_message(const std::string& seen, const std::string& expected) {
  return "'" + printable_lines(seen, 1, 60) + "' is not allowed; allowed: " + expected;
}

}  // namespace

// The help leaves out bounds that no user reaches.
CLI::Validator integer_between(std::int64_t least, std::int64_t most) {
  const std::string bounds = std::to_string(least) + " to " + std::to_string(most);
  const std::string shown = most < kShownBound ? bounds : std::to_string(least) + " or more";
  return CLI::Validator(
      [=](std::string& seen) {
        const auto value = parse_number<std::int64_t>(seen);
        return value && *value >= least && *value <= most ? "" : range_message(seen, "a whole number from " + bounds);
      },
      shown);
}

CLI::Validator number_between(double least, double most) {
  const std::string bounds = text_of(least) + " to " + text_of(most);
  const std::string shown = most < kShownBound     ? bounds
                            : least > -kShownBound ? text_of(least) + " or more"
                                                   : "any number";
  return CLI::Validator(
      [=](std::string& seen) {
        const auto value = parse_number<double>(seen);  // it accepts "nan" and "inf"
        const bool fits = value && *value >= least && *value <= most;
        return fits ? "" : range_message(seen, "a number from " + bounds);
      },
      shown);
}

}  // namespace lanista::cli
