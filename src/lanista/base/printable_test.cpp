#include "lanista/base/printable.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/base/utf8.h"

namespace lanista {
namespace {

TEST(Printable, RemovesTerminalControls) {
  EXPECT_EQ(printable("a\033[31m\n\x7f é"), "a?[31m?? é");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "?2J")
      << "a raw C1 byte";
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "?2J")
      << "the same as UTF-8";
  EXPECT_EQ(printable("\033]0;title\007"), "?]0;title?");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"
                      "c"),
            "a?b?c")
      << "turned writing";
  EXPECT_EQ(printable("one\xe2\x80\xa8two\r\nthree"), "one?two??three");
  EXPECT_EQ(printable("cut \xe6\x97"), "cut ??");
  EXPECT_EQ(printable("日本 ü €"), "日本 ü €");
}

TEST(Printable, IsUtf8WithoutControls) {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(40); i > 0; --i) text += static_cast<char>(rng.below(256));
    const std::string shown = printable(text);
    ASSERT_EQ(find_invalid_utf8(shown), std::string::npos);
    for (const char c : shown) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    for (std::size_t at = shown.find('\xc2'); at != std::string::npos; at = shown.find('\xc2', at + 1)) {
      ASSERT_GE(static_cast<unsigned char>(shown[at + 1]), 0xa0);
    }
  }
}

TEST(Printable, CutsLinesAndColumns) {
  EXPECT_EQ(printable_lines("one\ntwo\033\nthree"), "one\ntwo?\nthree");
  EXPECT_EQ(printable_lines("1\n2\n3\n4", 2), "1\n2\n… and 2 lines more");
  EXPECT_EQ(printable_lines("12345678\nok", 9, 5), "12345…\nok");
  EXPECT_EQ(printable_lines("日本語", 9, 5), "日本…");
}

TEST(Printable, MeasuresDisplayWidth) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("日本"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);
}

}  // namespace
}  // namespace lanista
