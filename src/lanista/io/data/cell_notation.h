#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::data {

/// The notation of numbers and missing values in the cells of a table.
struct CellNotation {
  /// The decimal sign. 0: numbers as programs write them, "1234.5". '.' or ',': this sign. Then digits may be in groups
  /// of three ("1,234.5", "1.234,5", "1 234", "1'234"), and a percent sign may follow ("12 %" is 0.12).
  char decimal = 0;
  /// More texts that mean a missing value, in addition to "", "?", "NA", "N/A", "nan", "NaN", "null" and "NULL".
  std::vector<std::string> missing = {};

  /// The cell without spaces around it; empty if it means a missing value. The result points into `cell`.
  std::string_view text(std::string_view cell) const;
  /// The number that a text of text() denotes; none unless it is a finite number in this notation.
  std::optional<double> number(std::string_view text) const;
};

/// A date of a cell, with an optional time of day.
struct Date {
  int year = 0, month = 0, day = 0;      ///< year as written, month 1 to 12, day from 1
  int weekday = 0;                       ///< 1: Monday, …, 7: Sunday (ISO 8601)
  int hour = 0, minute = 0, second = 0;  ///< the local time; zeros without a time
  bool has_time = false;                 ///< true: the text has a time
};
/// Reads "2024-03-01", "2024/3/1" or "1.03.2024" (day first), alone or followed by a time: " 14:05" or "T14:05:59.25".
/// "Z" or an offset from UTC may follow the time and is ignored: the result is the local time. Fractions of a second
/// are dropped. None for any other text and for days that do not exist.
std::optional<Date> parse_date(std::string_view text);

/// Seconds from 1970-01-01 00:00 to `date` in the same time zone; negative before 1970.
double seconds_of(const Date& date);

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
