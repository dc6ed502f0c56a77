#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::data {

/// How cells of a table write numbers and missing values.
struct CellNotation {
  /// 0: numbers as programs write them, "1234.5". '.' or ',': this decimal sign. Then digits may be in groups of three
  /// ("1,234.5", "1.234,5", "1 234", "1'234"), and a percent sign may follow ("12 %" is 0.12).
  char decimal = 0;
  /// Texts for a missing value, in addition to "", "?", "NA", "N/A", "nan", "NaN", "null" and "NULL".
  std::vector<std::string> missing = {};

  /// The cell without spaces around it; empty for a missing value.
  std::string_view text(std::string_view cell) const;
  /// The number of a text; none unless it is a finite number.
  std::optional<double> number(std::string_view text) const;
};

/// A date with an optional time.
struct Date {
  int year = 0, month = 0, day = 0;      ///< month and day from 1
  int weekday = 0;                       ///< 1: Monday, …, 7: Sunday (ISO 8601)
  int hour = 0, minute = 0, second = 0;  ///< the time, or zeros
  bool has_time = false;                 ///< whether the text has a time
};
/// Reads "2024-03-01", "2024/03/01" or "01.03.2024" (day first), alone or followed by " 14:05", "T14:05:59.25Z" or an
/// offset. An offset is ignored: the result is the local time. None for any other text.
std::optional<Date> parse_date(std::string_view text);

/// Seconds from the beginning of 1970 to a date in the same time zone.
double seconds_of(const Date& date);

/// One feature that is made of a date.
struct DatePart {
  const char* name;  ///< Its name: "weekday".
  int Date::*value;  ///< The number in the date.
  bool needs_time;   ///< Whether it is a feature only for columns with times.
};
/// The features of a date, in order.
inline constexpr std::array<DatePart, 6> kDateParts{{{"year", &Date::year, false},
                                                     {"month", &Date::month, false},
                                                     {"day", &Date::day, false},
                                                     {"weekday", &Date::weekday, false},
                                                     {"hour", &Date::hour, true},
                                                     {"minute", &Date::minute, true}}};

}  // namespace lanista::data
