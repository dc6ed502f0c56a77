#include "lanista/io/data/cell_notation.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "lanista/base/parse_number.h"
#include "lanista/base/text_cursor.h"

namespace lanista::data {
namespace {

constexpr std::array<std::string_view, 7> kMissingTexts = {"?", "NA", "N/A", "nan", "NaN", "null", "NULL"};

constexpr std::size_t kLongestMissing = 4;
static_assert(std::ranges::all_of(kMissingTexts, [](std::string_view text) { return text.size() <= kLongestMissing; }));

/// Separators of groups of digits, in addition to the sign that is not the decimal one: an apostrophe and spaces, also
/// those that do not break (U+00A0, U+202F).
constexpr std::array<std::string_view, 4> kGroupSeparators = {" ", "'", "\xC2\xA0", "\xE2\x80\xAF"};

constexpr std::size_t kLongestNumber = 64;

std::size_t digits_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

bool consume_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<double> parse_plain_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// The digits of "1.234.567" as "1234567"; the rest stays in `text`. One to three digits, then groups of three with the
/// same separator, or digits without any.
std::string consume_whole_part(std::string_view& text, char group) {
  std::string digits(text.substr(0, digits_of(text)));
  text.remove_prefix(digits.size());
  if (digits.empty() || digits.size() > 3) return digits;
  std::string_view between;
  if (text.starts_with(group)) between = text.substr(0, 1);
  for (const std::string_view sign : kGroupSeparators) {
    if (text.starts_with(sign)) between = text.substr(0, sign.size());
  }
  while (!between.empty() && text.starts_with(between) && digits_of(text.substr(between.size())) == 3) {
    digits += text.substr(between.size(), 3);
    text.remove_prefix(between.size() + 3);
  }
  return digits;
}

std::optional<double> parse_formatted_number(std::string_view text, char decimal) {
  if (text.size() > kLongestNumber) return std::nullopt;
  bool percent = false;
  if (text.ends_with('%')) {
    percent = true;
    text.remove_suffix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    for (const std::string_view space : {kGroupSeparators[2], kGroupSeparators[3]}) {
      if (text.ends_with(space)) text.remove_suffix(space.size());
    }
  }
  std::string plain;
  // The typographic minus (U+2212) is a sign too.
  if (consume_prefix(text, "-") || consume_prefix(text, "\xE2\x88\x92")) {
    plain = "-";
  } else {
    consume_prefix(text, "+");
  }
  const std::string whole = consume_whole_part(text, decimal == ',' ? '.' : ',');
  plain += whole;
  if (consume_prefix(text, {&decimal, 1})) {
    const std::size_t digits = digits_of(text);
    if (whole.empty() && digits == 0) return std::nullopt;
    plain.append(".").append(text.substr(0, digits));
    text.remove_prefix(digits);
  } else if (whole.empty()) {
    return std::nullopt;
  }
  // It is rounded once: 99.9 % is the number nearest to 0.999, not a hundredth of the one nearest to 99.9.
  if (percent && text.empty()) return parse_plain_number(plain + "e-2");
  if (!text.empty() && (percent || (text.front() != 'e' && text.front() != 'E'))) return std::nullopt;
  return parse_plain_number(plain.append(text));
}

/// A number of `count` digits, removed from the front.
std::optional<int> consume_digits(std::string_view& text, std::size_t least, std::size_t most) {
  const std::size_t digits = digits_of(text);
  if (digits < least || digits > most) return std::nullopt;
  int value = 0;
  std::from_chars(text.data(), text.data() + digits, value);
  text.remove_prefix(digits);
  return value;
}

/// Whether it is "Z", "+01:00", "-0130", "+01", or empty.
bool is_offset(std::string_view text) {
  if (text.empty() || text == "Z") return true;
  if (!consume_prefix(text, "+") && !consume_prefix(text, "-")) return false;
  const bool colon = text.size() == 5 && text[2] == ':';
  return (colon || text.size() == 2 || text.size() == 4) &&
         std::ranges::all_of(text, [&](char c) { return is_digit(c) || (colon && c == ':'); });
}

/// Reads " 14:05:59.25Z", or nothing.
bool consume_time(std::string_view text, Date& date) {
  if (text.empty()) return true;
  if (!consume_prefix(text, "T")) {
    if (!text.starts_with(' ')) return false;
    while (consume_prefix(text, " ")) {
    }
  }
  const auto hour = consume_digits(text, 1, 2);
  if (!hour || *hour > 23 || !consume_prefix(text, ":")) return false;
  const auto minute = consume_digits(text, 2, 2);
  if (!minute || *minute > 59) return false;
  if (consume_prefix(text, ":")) {
    const auto second = consume_digits(text, 2, 2);
    if (!second || *second > 60) return false;
    date.second = *second;
    if (consume_prefix(text, ".") && !consume_digits(text, 1, 9)) return false;
  }
  date.hour = *hour;
  date.minute = *minute;
  date.has_time = true;
  return is_offset(text);
}

}  // namespace

std::string_view CellNotation::text(std::string_view cell) const {
  while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
  // Most cells are numbers, and none of the usual texts begins as one.
  const bool may_be = !cell.empty() && cell.size() <= kLongestMissing && !is_digit(cell.front());
  if (may_be && std::ranges::find(kMissingTexts, cell) != kMissingTexts.end()) return {};
  if (std::ranges::find(missing, cell) != missing.end()) return {};
  return cell;
}

std::optional<double> CellNotation::number(std::string_view text) const {
  return decimal == 0 ? parse_plain_number(text) : parse_formatted_number(text, decimal);
}

std::optional<Date> parse_date(std::string_view text) {
  Date date;
  const bool day_first = digits_of(text) <= 2;
  const auto first = consume_digits(text, day_first ? 1 : 4, day_first ? 2 : 4);
  if (!first || text.empty()) return std::nullopt;
  const char sign = text.front();
  if (day_first ? sign != '.' : sign != '-' && sign != '/') return std::nullopt;
  text.remove_prefix(1);
  const auto month = consume_digits(text, 1, 2);
  if (!month || !consume_prefix(text, {&sign, 1})) return std::nullopt;
  const auto last = consume_digits(text, day_first ? 4 : 1, day_first ? 4 : 2);
  if (!last || !consume_time(text, date)) return std::nullopt;
  date.year = day_first ? *last : *first;
  date.month = *month;
  date.day = day_first ? *first : *last;
  const std::chrono::year_month_day day(std::chrono::year(date.year),
                                        std::chrono::month(static_cast<unsigned>(date.month)),
                                        std::chrono::day(static_cast<unsigned>(date.day)));
  if (!day.ok()) return std::nullopt;
  date.weekday = static_cast<int>(std::chrono::weekday(std::chrono::sys_days(day)).iso_encoding());
  return date;
}

double seconds_of(const Date& date) {
  const std::chrono::sys_days day(std::chrono::year(date.year) / date.month / date.day);
  return static_cast<double>(day.time_since_epoch().count()) * 86400.0 + date.hour * 3600 + date.minute * 60 +
         date.second;
}

}  // namespace lanista::data
