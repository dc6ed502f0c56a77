#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::data {

/// The parts of "kind:argument?option=value&option=value".
struct Source {
  std::string text;  ///< as it was written
  std::string kind, argument;
  std::map<std::string, std::string> options;

  /// Errors of these: kInvalidArgument with the source's text.
  Error error(const std::string& message) const;
  Result<void> check_option_names(const std::vector<std::string>& names) const;
  Result<std::int64_t> integer(const std::string& name, std::int64_t default_value, std::int64_t min,
                               std::int64_t max) const;
  /// One of `allowed`; the first if it is not given.
  Result<std::string> choice(const std::string& name, const std::vector<std::string>& allowed) const;
  std::optional<std::string> value(const std::string& name) const;
};

/// Errors: kInvalidArgument (no kind, an option without a name or given twice).
Result<Source> parse_source(const std::string& text);

/// The pieces between commas.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace lanista::data
