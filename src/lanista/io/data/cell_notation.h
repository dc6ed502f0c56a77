#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::data {

/// How the cells of a table say numbers, and that there is no value.
struct CellNotation {
  /// 0: numbers as programs write them, "1234.5". '.' or ',': as people do, with this decimal sign; digits may stand in
  /// groups of three ("1,234.5", "1.234,5", "1 234", "1'234") and a percent sign behind them ("12 %" is 0.12).
  char decimal = 0;
  std::vector<std::string> missing = {};  ///< texts that say so, beside "", "?", "NA", "N/A", "nan", "NaN", "null", "NULL"

  /// The cell without spaces around it; empty if it says that there is no value.
  std::string_view text(std::string_view cell) const;
  /// The number that a text is, if it is a finite one.
  std::optional<double> number(std::string_view text) const;
};

/// A day, and a time of that day where there is one.
struct Date {
  int year = 0, month = 0, day = 0;
  int weekday = 0;  ///< 1: Monday, …, 7: Sunday (ISO 8601)
  int hour = 0, minute = 0, second = 0;
  bool has_time = false;
};
/// "2024-03-01", "2024/03/01", "01.03.2024" (the day first), each alone or with " 14:05", "T14:05:59.25Z" or an offset
/// behind it, which is taken off nothing: a time is the one that the clock showed. nullopt: it is no such date.
std::optional<Date> parse_date(std::string_view text);

/// Seconds from the beginning of 1970 to that time on the same clock.
double seconds_of(const Date& date);

/// What a date becomes.
struct DatePart {
  const char* name;  ///< "weekday"
  int Date::*value;
  bool needs_time;  ///< said only where times stand in the table
};
inline constexpr std::array<DatePart, 6> kDateParts{{{"year", &Date::year, false},
                                                     {"month", &Date::month, false},
                                                     {"day", &Date::day, false},
                                                     {"weekday", &Date::weekday, false},
                                                     {"hour", &Date::hour, true},
                                                     {"minute", &Date::minute, true}}};

}  // namespace lanista::data
