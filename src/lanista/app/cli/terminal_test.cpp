#include "lanista/app/cli/terminal.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace lanista::cli {
namespace {

TEST(Terminal, WritesDurationsAsClocks) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(65.9), "1:05");
  EXPECT_EQ(clock_text(7384), "2:03:04");
}

TEST(Terminal, ShortensLargeNumbers) {
  EXPECT_EQ(short_number(853), "853");
  EXPECT_EQ(short_number(9999), "9999");
  EXPECT_EQ(short_number(11849), "11.8k");
  EXPECT_EQ(short_number(4.1e6), "4.1M");
}

TEST(Terminal, QuotesWordsForShell) {
  EXPECT_EQ(shell_word("studies/digits-1"), "studies/digits-1");
  EXPECT_EQ(shell_word("my study"), "'my study'");
  EXPECT_EQ(shell_word("it's#3"), "'it'\\''s#3'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Terminal, ShowsFourDigits) {
  const std::vector<std::pair<double, std::string>> cases{{0.97, "0.9700"},
                                                          {1, "1.000"},
                                                          {12.345, "12.35"},
                                                          {999.96, "1000"},
                                                          {54321.4, "54321"},
                                                          {-0.5, "-0.5000"},
                                                          {383612181.8559, "3.836e+08"},
                                                          {1.2345e-5, "1.234e-05"},
                                                          {0.00123, "0.001230"},
                                                          {0, "0.000"},
                                                          {std::numeric_limits<double>::quiet_NaN(), "nan"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(four_digits(value), text);
}

}  // namespace
}  // namespace lanista::cli
