#include "lanista/cli/terminal.h"

#include <gtest/gtest.h>

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

TEST(Terminal, WritesNoControlCodeWithoutColour) {
  EXPECT_EQ(bold(Terminal{}, "x"), "x");
  EXPECT_EQ(bold(Terminal{.live = true, .color = true, .columns = 80}, "x"), "\033[1mx\033[0m");
}

}  // namespace
}  // namespace lanista::cli
