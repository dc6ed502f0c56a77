#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::data {

/// The parts of a source "kind:argument?option=value&option=value".
struct Source {
  std::string text;                            ///< as it was written
  std::string kind, argument;                  ///< before and after the colon
  std::map<std::string, std::string> options;  ///< values by name

  /// An error with code kInvalidArgument and the source's text. The functions below return such errors.
  Error error(const std::string& message) const;
  /// Checks that there are no options but `names`.
  Result<void> check_option_names(const std::vector<std::string>& names) const;
  /// A whole number from `min` to `max`, or the default value.
  Result<std::int64_t> integer(const std::string& name, std::int64_t default_value, std::int64_t min,
                               std::int64_t max) const;
  /// One of `allowed`; the first if the option is absent.
  Result<std::string> choice(const std::string& name, const std::vector<std::string>& allowed) const;
  /// The text of an option, if it exists.
  std::optional<std::string> value(const std::string& name) const;
};

/// Splits a source. Errors: kInvalidArgument (no kind, an option without a name or given twice).
Result<Source> parse_source(const std::string& text);

/// The parts of a text between commas.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace lanista::data
