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

/// Those of pandas.read_csv, and "?".
constexpr std::array<std::string_view, 19> kMissingTextsOfPandas = {
    "?",    "#N/A", "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A",  "NA",       "NULL", "NaN",     "None",     "n/a",  "nan",  "null"};

/// Separators of groups of digits, in addition to the sign that is not the decimal one: an apostrophe and spaces, also
/// those that do not break (U+00A0, U+202F).
constexpr std::array<std::string_view, 4> kGroupSeparators = {" ", "'", "\xC2\xA0", "\xE2\x80\xAF"};

/// Signs of currencies: dollar, euro, pound, yen.
constexpr std::array<std::string_view, 4> kCurrencies = {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"};

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

/// Reads "Z", "UTC", "GMT", "+01:00", "-0130" or "+01", or nothing. False: the text is something else.
bool parse_offset(std::string_view text, Date& date) {
  if (text.empty()) return true;
  if (text == "Z" || text == "UTC" || text == "GMT") {
    date.offset_minutes = 0;
    return true;
  }
  const bool west = text.front() == '-';
  if (!consume_prefix(text, "+") && !consume_prefix(text, "-")) return false;
  const bool colon = text.size() == 5 && text[2] == ':';
  if ((!colon && text.size() != 2 && text.size() != 4) ||
      !std::ranges::all_of(text, [&](char c) { return is_digit(c) || (colon && c == ':'); })) {
    return false;
  }
  const auto digit = [&](std::size_t at) { return text[at] - '0'; };
  const std::size_t minute = colon ? 3 : 2;
  int minutes = (digit(0) * 10 + digit(1)) * 60;
  if (text.size() > 2) minutes += digit(minute) * 10 + digit(minute + 1);
  date.offset_minutes = west ? -minutes : minutes;
  return true;
}

/// The nanoseconds of a fraction of a second, removed from the front. Digits after the ninth are dropped.
std::optional<int> consume_fraction(std::string_view& text) {
  constexpr std::size_t kDigits = 9, kMostDigits = 18;
  const std::size_t digits = digits_of(text);
  if (digits < 1 || digits > kMostDigits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < kDigits; ++i) value = value * 10 + (i < digits ? text[i] - '0' : 0);
  text.remove_prefix(digits);
  return value;
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
    if (consume_prefix(text, ".")) {
      const auto fraction = consume_fraction(text);
      if (!fraction) return false;
      date.nanosecond = *fraction;
    }
  }
  date.hour = *hour;
  date.minute = *minute;
  date.has_time = true;
  while (text.size() > 1 && consume_prefix(text, " ")) {
  }
  return parse_offset(text, date);
}

}  // namespace

std::string_view CellNotation::trimmed(std::string_view cell) const {
  const std::string_view no_break = kGroupSeparators[2];
  const bool spaces_only = rules == study::kFirstRules;
  while (consume_prefix(cell, " ") ||
         (!spaces_only && (consume_prefix(cell, "\t") || consume_prefix(cell, no_break)))) {
  }
  while (true) {
    if (cell.ends_with(' ') || (!spaces_only && cell.ends_with('\t'))) {
      cell.remove_suffix(1);
    } else if (!spaces_only && cell.ends_with(no_break)) {
      cell.remove_suffix(no_break.size());
    } else {
      return cell;
    }
  }
}

bool CellNotation::is_usually_missing(std::string_view text) const {
  if (text.empty()) return true;
  // Most cells are numbers, and none of the usual texts ends as one, or of the first rules begins as one.
  if (rules > study::kFirstRules) {
    return !is_digit(text.back()) && std::ranges::find(kMissingTextsOfPandas, text) != kMissingTextsOfPandas.end();
  }
  return text.size() <= kLongestMissing && !is_digit(text.front()) &&
         std::ranges::find(kMissingTexts, text) != kMissingTexts.end();
}

std::string_view CellNotation::text(std::string_view cell, bool keeps) const {
  cell = trimmed(cell);
  if (cell.empty() || std::ranges::find(missing, cell) != missing.end()) return {};
  if (is_usually_missing(cell) && !(keeps && std::ranges::find(kept, cell) != kept.end())) return {};
  if (rules == study::kFirstRules || missing.empty()) return cell;
  const auto value = number(cell);
  const auto is_value = [&](std::string_view text) {
    const auto other = parse_plain_number(text);
    return other && *other == *value;
  };
  return value && std::ranges::any_of(missing, is_value) ? std::string_view() : cell;
}

std::optional<double> CellNotation::number(std::string_view text) const {
  if (decimal == 0) return parse_plain_number(text);
  if (rules == study::kFirstRules) return parse_formatted_number(text, decimal);
  // "$5", "-$5", "5 €": the sign of a currency is no part of the number.
  const bool negative = text.size() > 1 && text.front() == '-';
  std::string_view inner = text.substr(negative ? 1 : 0);
  for (const std::string_view sign : kCurrencies) {
    const bool before = consume_prefix(inner, sign);
    if (!before && !inner.ends_with(sign)) continue;
    if (!before) inner.remove_suffix(sign.size());
    while (consume_prefix(inner, " ")) {
    }
    while (inner.ends_with(' ')) inner.remove_suffix(1);
    if (negative && (inner.starts_with('-') || inner.starts_with('+'))) return std::nullopt;
    const auto value = parse_formatted_number(inner, decimal);
    return value && negative ? std::optional(-*value) : value;
  }
  return parse_formatted_number(text, decimal);
}

std::optional<bool> boolean_of(std::string_view text) {
  const auto is = [&](std::string_view word) {
    return std::ranges::equal(text, word,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  };
  return is("true") ? std::optional(true) : is("false") ? std::optional(false) : std::nullopt;
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

Instant instant_of(const Date& date) {
  const auto local = static_cast<std::int64_t>(seconds_of(date));  // whole seconds of years to 9999 are exact
  return {local - std::int64_t{60} * date.offset_minutes.value_or(0), date.nanosecond};
}

}  // namespace lanista::data
