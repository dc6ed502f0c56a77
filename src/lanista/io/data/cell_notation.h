#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/search/study/rules.h"

namespace lanista::data {

/// The notation of numbers and missing values in the cells of a table.
///
/// With the first rules of studies, spaces around a cell are no part of it, and "", "?", "NA", "N/A", "nan", "NaN",
/// "null" and "NULL" mean a missing value. With later rules tabs and spaces that do not break are no part of a cell
/// either, and all texts that pandas reads as missing mean that, also "None", "n/a" and "<NA>".
struct CellNotation {
  /// The decimal sign. 0: numbers as programs write them, "1234.5". '.' or ',': this sign. Then digits may be in groups
  /// of three ("1,234.5", "1.234,5", "1 234", "1'234"), and a percent sign may follow ("12 %" is 0.12).
  char decimal = 0;
  /// More texts that mean a missing value. After the first rules a number means all spellings of it: -999 is also
  /// -999.0.
  std::vector<std::string> missing = {};
  std::int64_t rules = study::kLatestRules;  ///< the rules of the study
  /// Texts that usually mean a missing value, and are values in the columns that keep them.
  std::vector<std::string> kept = {};

  /// The cell without blanks around it; empty if it means a missing value. The result points into `cell`. True for
  /// `keeps`: the column keeps the texts in `kept`.
  std::string_view text(std::string_view cell, bool keeps = false) const;
  /// The cell without blanks around it.
  std::string_view trimmed(std::string_view cell) const;
  /// Whether a trimmed text means a missing value without an option.
  bool is_usually_missing(std::string_view text) const;
  /// The number that a text of text() denotes; none unless it is a finite number in this notation.
  std::optional<double> number(std::string_view text) const;
};

/// The value of a text that pandas reads as a boolean: "true" or "false", with letters of any case. None for others.
std::optional<bool> boolean_of(std::string_view text);

/// A date of a cell, with an optional time of day.
struct Date {
  int year = 0, month = 0, day = 0;      ///< year as written, month 1 to 12, day from 1
  int weekday = 0;                       ///< 1: Monday, …, 7: Sunday (ISO 8601)
  int hour = 0, minute = 0, second = 0;  ///< the local time; zeros without a time
  bool has_time = false;                 ///< true: the text has a time
  int nanosecond = 0;                    ///< fraction of the second, 0 to 999,999,999
  std::optional<int> offset_minutes;     ///< local time minus UTC in minutes; none: the text has no offset
};
/// Reads "2024-03-01", "2024/3/1" or "1.03.2024" (day first), alone or followed by a time: " 14:05" or "T14:05:59.25".
/// "Z", "UTC" or an offset from UTC may follow the time, also after a space. The fields are the local time. Digits of a
/// second after the ninth are dropped. None for any other text and for days that do not exist.
std::optional<Date> parse_date(std::string_view text);

/// Seconds from 1970-01-01 00:00 to `date` in the same time zone, without fractions; negative before 1970.
double seconds_of(const Date& date);

/// A time to a nanosecond. Comparison is by time.
struct Instant {
  std::int64_t second = 0;  ///< seconds from 1970-01-01 00:00, rounded down
  int nanosecond = 0;       ///< 0 to 999,999,999

  auto operator<=>(const Instant&) const = default;
};
/// The time of `date` in UTC; without an offset, that in its own time zone.
Instant instant_of(const Date& date);

/// One feature that is computed from a date.
struct DatePart {
  const char* name;  ///< Its name in the features: "weekday".
  int Date::*value;  ///< The member of Date that is its value.
  bool needs_time;   ///< True: it is a feature only of columns in which a training row has a time.
};
/// The features of a date, in the order of the features of a column.
inline constexpr std::array<DatePart, 6> kDateParts{{{"year", &Date::year, false},
                                                     {"month", &Date::month, false},
                                                     {"day", &Date::day, false},
                                                     {"weekday", &Date::weekday, false},
                                                     {"hour", &Date::hour, true},
                                                     {"minute", &Date::minute, true}}};

}  // namespace lanista::data
