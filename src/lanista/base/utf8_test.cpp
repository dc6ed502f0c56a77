#include "lanista/base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "lanista/base/rng.h"

namespace lanista {
namespace {

TEST(Utf8, TakesTheFirstAndLastCharacterOfEveryLength) {
  for (const std::string text : {"", "\x01", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                                 "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(find_invalid_utf8(text), std::string::npos) << text;
  }
}

TEST(Utf8, FindsFirstInvalidByte) {
  for (const std::string bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                "\xF4\x90\x80\x80", "\xF5", "\xFF", "\xC2", "\xE1\x80", "\xF1\x80\x80", "\xC2x"}) {
    EXPECT_EQ(find_invalid_utf8("a\xC3\xA9" + bad), 3U) << bad;
  }
}

TEST(Utf8, AgreesWithTheJsonReaderOnRandomBytes) {
  Rng rng(5);
  int sound = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t n = 1 + rng.below(4); n-- > 0;) {
      text += static_cast<char>(rng.bernoulli(0.5) ? 0x80 + rng.below(64) : 0xC0 + rng.below(64));
    }
    const bool accepted = nlohmann::json::accept('"' + text + '"');
    ASSERT_EQ(find_invalid_utf8(text) == std::string::npos, accepted);
    sound += accepted ? 1 : 0;
  }
  EXPECT_GT(sound, 100);
}

}  // namespace
}  // namespace lanista
