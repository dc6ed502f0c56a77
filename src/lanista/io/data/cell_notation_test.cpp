#include "lanista/io/data/cell_notation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

TEST(CellNotation, DistinguishesNumbersTextAndMissing) {
  const CellNotation plain;
  EXPECT_EQ(plain.number(plain.text(" 1.5 ")), 1.5);
  EXPECT_EQ(plain.number("+2e3"), 2000);
  for (const char* cell : {"", "  ", "x", "1x", "NaN", "inf", "+-1", "1e999", "?", "1,5", "1,000", "5 %"}) {
    EXPECT_FALSE(plain.number(plain.text(cell)).has_value()) << cell;
  }
  for (const char* cell : {"", " ", "?", "NA", "nan", " null "}) EXPECT_TRUE(plain.text(cell).empty()) << cell;
  const CellNotation more{.missing = {"n.a.", "-99"}};
  EXPECT_TRUE(more.text(" n.a. ").empty());
  EXPECT_TRUE(more.text("-99").empty());
  EXPECT_TRUE(more.text("NA").empty());
  EXPECT_EQ(more.text("-9"), "-9");
}

TEST(CellNotation, ReadsFormattedNumbers) {
  const CellNotation point{.decimal = '.'}, comma{.decimal = ','};
  EXPECT_EQ(point.number("1,234.5"), 1234.5);
  EXPECT_EQ(comma.number("1.234,5"), 1234.5);
  EXPECT_EQ(comma.number("1.234"), 1234) << "a point stands between groups";
  EXPECT_EQ(point.number("1.234"), 1.234);
  EXPECT_EQ(comma.number("-,5"), -0.5);
  EXPECT_EQ(comma.number("5,"), 5);
  EXPECT_EQ(comma.number("12 %"), 0.12);
  EXPECT_EQ(comma.number("12,5\xC2\xA0%"), 0.125);
  EXPECT_EQ(comma.number("1\xE2\x80\xAF"
                         "234\xE2\x80\xAF"
                         "567,5"),
            1234567.5);
  EXPECT_EQ(point.number("\xE2\x88\x92"
                         "3"),
            -3);
  EXPECT_EQ(comma.number("1,5e-3"), 0.0015);
  for (const char* text :
       {"1,23,456", "1,2345", "12,34", "1 23", ",",   ".",   "-",   "%",    "1,234,5", "1'234 567", "1..5",
        "1.2.3",    "0x10",   "1e",    "e5",   "- 5", "inf", "nan", "1.5.", "5 % %",   "1,000e400", "1e3 %"}) {
    EXPECT_FALSE(point.number(text).has_value()) << text;
  }
  EXPECT_FALSE(point.number(std::string(65, '1')).has_value());
}

/// A number with up to nine digits before the decimal sign and up to six after it, in the notation of a user and of a
/// program.
struct NumberForms {
  std::string formatted_text, plain_text;
  bool percent = false;
};

NumberForms random_number(Rng& rng, char decimal) {
  const std::vector<std::string> between{std::string(1, decimal == '.' ? ',' : '.'), " ", "'", "\xC2\xA0", ""};
  const std::string sign = rng.bernoulli(0.3) ? "-" : "", group = between[rng.below(between.size())];
  const std::size_t whole = 1 + rng.below(9), behind = rng.below(7);
  NumberForms out{sign, sign, rng.bernoulli(0.2)};
  for (std::size_t i = 0; i < whole; ++i) {
    const char digit = static_cast<char>('0' + rng.below(10));
    if (i > 0 && (whole - i) % 3 == 0) out.formatted_text += group;
    out.formatted_text += digit;
    out.plain_text += digit;
  }
  if (behind > 0) {
    out.formatted_text += decimal;
    out.plain_text += '.';
  }
  for (std::size_t i = 0; i < behind; ++i) {
    const char digit = static_cast<char>('0' + rng.below(10));
    out.formatted_text += digit;
    out.plain_text += digit;
  }
  if (out.percent) out.formatted_text += rng.bernoulli(0.5) ? "%" : " %";
  return out;
}

TEST(CellNotation, ReadsRandomNumbersLikeStrtod) {
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const char decimal = rng.bernoulli(0.5) ? '.' : ',';
    const NumberForms written = random_number(rng, decimal);
    const double plain = std::strtod((written.plain_text + (written.percent ? "e-2" : "")).c_str(), nullptr);
    const auto read = CellNotation{.decimal = decimal}.number(written.formatted_text);
    ASSERT_TRUE(read.has_value()) << written.formatted_text;
    ASSERT_EQ(*read, plain) << written.formatted_text;
  }
}

/// The weekday by Zeller's congruence and the rule of leap years. The tested code uses a library.
int weekday_of(int year, int month, int day) {
  const int m = month < 3 ? month + 12 : month, y = month < 3 ? year - 1 : year;
  const int from_saturday = (day + 13 * (m + 1) / 5 + y + y / 4 - y / 100 + y / 400) % 7;
  return (from_saturday + 5) % 7 + 1;
}

int days_in(int year, int month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

TEST(ParseDate, ReadsRandomDatesInEachNotation) {
  Rng rng(11);
  for (int i = 0; i < 20'000; ++i) {
    const int year = static_cast<int>(rng.between(1000, 9999)), month = static_cast<int>(rng.between(1, 12));
    const int day = static_cast<int>(rng.between(1, 31)), hour = static_cast<int>(rng.between(0, 23));
    const int minute = static_cast<int>(rng.between(0, 59));
    const bool time = rng.bernoulli(0.5);
    const std::string clock = std::vector<std::string>{" ", "T"}[rng.below(2)] + two_digits(hour) + ":" +
                              two_digits(minute) +
                              std::vector<std::string>{"", ":07", ":59.123", ":00Z", "+01:00", "-0530"}[rng.below(6)];
    const std::string days[] = {std::to_string(year) + "-" + two_digits(month) + "-" + two_digits(day),
                                std::to_string(year) + "/" + std::to_string(month) + "/" + std::to_string(day),
                                two_digits(day) + "." + two_digits(month) + "." + std::to_string(year)};
    const std::string text = days[rng.below(3)] + (time ? clock : "");
    const auto date = parse_date(text);
    ASSERT_EQ(date.has_value(), day <= days_in(year, month)) << text;
    if (!date) continue;
    ASSERT_EQ(std::tie(date->year, date->month, date->day), std::tie(year, month, day)) << text;
    ASSERT_EQ(date->weekday, weekday_of(year, month, day)) << text;
    ASSERT_EQ(date->has_time, time) << text;
    if (!time) continue;
    ASSERT_EQ(std::tie(date->hour, date->minute), std::tie(hour, minute)) << text;
  }
}

TEST(ParseDate, RefusesInvalidAndAmbiguousDates) {
  for (const char* text :
       {"", "2024", "2024-13-01", "2024-02-30", "03/04/2024", "24-03-01", "2024-03", "2024-03-01x", "1.3", "2024-03/01",
        "2024-03-01 25:00", "2024-03-01 12:60", "2024-03-01 12", "2024-03-01 12:30 pm", "2024-03-01T12:30+1",
        "2024.03.01", "01-03-2024", "2024-03-01 12:30:61.", "-2024-03-01"}) {
    EXPECT_FALSE(parse_date(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace lanista::data
