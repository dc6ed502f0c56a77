#include "lanista/io/formats/gzip.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/io/formats/test_support.h"
#include "support/io/formats/test_zip.h"

namespace lanista::formats {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

void expect_error(const Result<std::string>& result, Code code, const std::string& rule) {
  ASSERT_FALSE(result.ok()) << rule;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
}

TEST(Gzip, UnpacksAnySizeAndAllMembers) {
  for (const std::size_t size : std::vector<std::size_t>{0, 1, 2, 1000, 65535, 65536, 65537, 200'000}) {
    const std::string text = test::noise(size);
    const auto back = gunzip(test::gzipped(text), kPlenty);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, text);
  }
  const auto both = gunzip(test::gzipped("abc") + test::gzipped("") + test::gzipped("def"), kPlenty);
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(*both, "abcdef");
}

TEST(Gzip, RecognisesSignature) {
  EXPECT_TRUE(is_gzip(test::gzipped("x")));
  EXPECT_FALSE(is_gzip(""));
  EXPECT_FALSE(is_gzip("\x1f"));
  EXPECT_FALSE(is_gzip("PK\3\4"));
}

TEST(Gzip, NamesError) {
  const std::string good = test::gzipped("some text that is long enough to be packed, packed, packed, packed");
  std::string wrong_crc = good, wrong_length = good, wrong_data = good;
  wrong_crc[good.size() - 8] = static_cast<char>(wrong_crc[good.size() - 8] ^ 1);
  wrong_length[good.size() - 1] = static_cast<char>(wrong_length[good.size() - 1] ^ 1);
  wrong_data[10] = '\x07';  // a last block of the reserved kind

  expect_error(gunzip("", kPlenty), Code::kDataLoss, "gzip: the packed data are cut off");
  expect_error(gunzip("plain", kPlenty), Code::kDataLoss, "incorrect header check");
  expect_error(gunzip(wrong_crc, kPlenty), Code::kDataLoss, "incorrect data check");
  expect_error(gunzip(wrong_length, kPlenty), Code::kDataLoss, "incorrect length check");
  expect_error(gunzip(wrong_data, kPlenty), Code::kDataLoss, "invalid block type");
  expect_error(gunzip(good + "xyz", kPlenty), Code::kDataLoss, "3 bytes follow");
  expect_error(gunzip(good, 10), Code::kResourceExhausted, "more than the 10 that are allowed");
}

TEST(Gzip, RefusesPrefixesAndHandlesCorruption) {
  const std::string text = "abcabcabcabcabc" + test::noise(40);
  test::damage_bytes(
      test::gzipped(text), [](const std::string& bytes) { return gunzip(bytes, kPlenty); },
      [&](const Result<std::string>& result, bool prefix) {
        EXPECT_FALSE(prefix && result.ok());
        if (!result) return;
        EXPECT_EQ(*result, text);  // a flag or the time in the header; the data have a checksum
      });
}

TEST(Gzip, RefusesBombsWithoutUnpackingThem) {
  const std::string bomb = test::gzipped(std::string(std::size_t{100} << 20, '\0'));
  ASSERT_LT(bomb.size(), 105'000U);
  EXPECT_TRUE(test::within_memory(bomb.size(), [&] {
    const auto result = gunzip(bomb, kPlenty);
    return !result && result.error().code == Code::kResourceExhausted &&
           result.error().message.find(std::to_string(200 * bomb.size())) != std::string::npos;
  }));
}

TEST(Gzip, AcceptsAnyRatioForSmallFiles) {
  const std::string zeros(std::size_t{1} << 20, '\0');
  EXPECT_TRUE(gunzip(test::gzipped(zeros), kPlenty).ok());
  EXPECT_FALSE(gunzip(test::gzipped(zeros + "x"), kPlenty).ok());
}

}  // namespace
}  // namespace lanista::formats
