#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::data {

/// A parsed source: the text "kind:argument?option=value&option=value" of data.source.
struct Source {
  std::string text;                            ///< the whole text
  std::string kind, argument;                  ///< parts before and after the colon, without options
  std::map<std::string, std::string> options;  ///< value by option name; empty: no options

  /// An error with code kInvalidArgument, with `text` before `message`. The functions below return such errors.
  Error error(const std::string& message) const;
  /// Checks that every option is one of `names`. Errors: kInvalidArgument with the nearest name.
  Result<void> check_option_names(const std::vector<std::string>& names) const;
  /// The integer of option `name`, or the default value if the option is absent. Errors: kInvalidArgument (no integer
  /// from `min` to `max`).
  Result<std::int64_t> integer(const std::string& name, std::int64_t default_value, std::int64_t min,
                               std::int64_t max) const;
  /// The value of option `name`, or the first of `allowed` if the option is absent. Errors: kInvalidArgument (a value
  /// that is not in `allowed`).
  Result<std::string> choice(const std::string& name, const std::vector<std::string>& allowed) const;
  /// The value of option `name`; none if it is absent.
  std::optional<std::string> value(const std::string& name) const;
};

/// The source that a path most likely means, by the ending of its name: "csv:table.csv?target=COLUMN", with capital
/// letters for what the user must fill in. Empty: no kind of source has that ending.
std::string source_of_path(const std::string& path);

/// Parses a source; kind and option names may be unknown ones. Errors: kInvalidArgument (no kind, an option without
/// name or '=', an option given twice).
Result<Source> parse_source(const std::string& text);

/// `text` with each code of the form %2C, a percent sign and two hexadecimal digits, replaced by its character. Other
/// percent signs and %00 are unchanged. Readers apply it to names that do not exist as they are written, so a name may
/// itself hold such a code.
std::string unescaped(const std::string& text);
/// `text` as a part of a source in which `characters` have another meaning: each of them as its code, and then also the
/// percent signs that begin a code. A text without such characters is unchanged. unescaped() reverses it.
std::string escaped(const std::string& text, std::string_view characters = "&,");

/// The parts of a text between commas, in order, with spaces unchanged. An empty text has one empty part.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace lanista::data
