#include "lanista/io/formats/idx.h"

#include <gtest/gtest.h>

#include "support/io/formats/test_support.h"
#include "support/io/formats/test_zip.h"

namespace lanista::formats {
namespace {

std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& data) {
  std::string out(2, '\0');
  out += static_cast<char>(type);
  out += static_cast<char>(sizes.size());
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xFFU);
  }
  return out + data;
}

using test::values;

void expect_error(const std::string& bytes, Code code, const std::string& rule) {
  for (const std::string& file : {bytes, test::gzipped(bytes)}) {
    const auto result = decode_idx(file);
    ASSERT_FALSE(result.ok()) << rule;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
  }
}

TEST(Idx, ReadsEveryType) {
  using namespace std::string_literals;
  EXPECT_EQ(values<std::uint8_t>(decode_idx(idx(0x08, {2}, "\x07\xFF"))), (std::vector<std::uint8_t>{7, 255}));
  EXPECT_EQ(values<std::int32_t>(decode_idx(idx(0x09, {2}, "\x07\xFE"))), (std::vector<std::int32_t>{7, -2}));
  EXPECT_EQ(values<std::int32_t>(decode_idx(idx(0x0B, {2}, "\x01\x02\xFF\xFE"))), (std::vector<std::int32_t>{258, -2}));
  EXPECT_EQ(values<std::int32_t>(decode_idx(idx(0x0C, {1}, "\0\1\0\2"s))), std::vector<std::int32_t>{65538});
  EXPECT_EQ(values<float>(decode_idx(idx(0x0D, {1}, "\x3F\xC0\0\0"s))), std::vector<float>{1.5F});
  EXPECT_EQ(values<double>(decode_idx(idx(0x0E, {1}, "\x3F\xF8\0\0\0\0\0\0"s))), std::vector<double>{1.5});
}

TEST(Idx, ReadsAnyShapePackedOrPlain) {
  for (const std::vector<std::uint32_t>& sizes :
       {std::vector<std::uint32_t>{1}, {0}, {3, 0, 2}, {5, 7, 3}, {60, 28, 28}, {1, 1, 1, 1, 1, 1, 1, 9}}) {
    std::size_t count = 1;
    for (const std::uint32_t size : sizes) count *= size;
    const std::string data = test::noise(count);
    for (const std::string& file : {idx(0x08, sizes, data), test::gzipped(idx(0x08, sizes, data))}) {
      const auto result = decode_idx(file);
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(result->shape, (std::vector<std::int64_t>(sizes.begin(), sizes.end())));
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(result->bytes.data()), result->bytes.size()), data);
    }
  }
}

TEST(Idx, RoundTrips) {
  using namespace std::string_literals;
  for (const std::string& file :
       {idx(0x08, {2, 1}, "\x07\xFF"), idx(0x0C, {1}, "\0\1\0\2"s), idx(0x0D, {1}, "\x3F\xC0\0\0"s),
        idx(0x0E, {1}, "\x3F\xF8\0\0\0\0\0\0"s), idx(0x08, {3, 0}, "")}) {
    const auto tensor = decode_idx(file);
    ASSERT_TRUE(tensor.ok());
    const auto written = encode_idx(*tensor);
    ASSERT_TRUE(written.ok()) << written.error().message;
    EXPECT_EQ(*written, file);
  }
  EXPECT_EQ(encode_idx({.name = {}, .type = ElementType::kI64, .shape = {0}, .bytes = {}}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(encode_idx({.name = {}, .type = ElementType::kU8, .shape = {}, .bytes = {std::byte{1}}}).error().code,
            Code::kInvalidArgument);
}

TEST(Idx, NamesViolatedRule) {
  expect_error("", Code::kDataLoss, "ends inside its header");
  expect_error(std::string(3, '\0'), Code::kDataLoss, "ends inside its header");
  expect_error("PNG?", Code::kDataLoss, "does not begin with two zero bytes");
  expect_error(idx(0x0A, {1}, "x"), Code::kDataLoss, "type code 10; known are 8, 9");
  expect_error(idx(0x08, {}, "x"), Code::kDataLoss, "0 dimensions; 1 to 8");
  expect_error(idx(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "x"), Code::kDataLoss, "9 dimensions; 1 to 8");
  expect_error(idx(0x08, {1, 1}, "").substr(0, 11), Code::kDataLoss, "ends inside its header");
  expect_error(idx(0x08, {2, 2}, "abc"), Code::kDataLoss, "need 4 bytes, the file has 3");
  expect_error(idx(0x0D, {1}, "abcde"), Code::kDataLoss, "need 4 bytes, the file has 5");
  expect_error(idx(0x08, {0xFFFFFFFF}, "abc"), Code::kDataLoss, "need 4294967295 bytes, the file has 3");
  expect_error(idx(0x08, {0xFFFFFFFF, 0xFFFFFFFF}, "abc"), Code::kDataLoss, "overflow");
  expect_error(idx(0x0E, {0xFFFFFFFF, 0x7FFFFFFF}, "abc"), Code::kDataLoss, "overflow");
  expect_error(idx(0x08, {0, 0xFFFFFFFF, 0xFFFFFFFF}, ""), Code::kDataLoss, "overflow");
}

TEST(Idx, RefusesPrefixesAndHandlesCorruption) {
  for (const std::string& good :
       {idx(0x0B, {3, 2}, "abcdefghijkl"), test::gzipped(idx(0x0B, {3, 2}, "abcdefghijkl"))}) {
    test::damage_bytes(good, decode_idx, [](const Result<Tensor>& result, bool prefix) {
      EXPECT_FALSE(prefix && result.ok());
      if (result) {
        EXPECT_EQ(result->bytes.size(), static_cast<std::size_t>(result->elements()) * element_size(result->type));
      }
    });
  }
}

TEST(Idx, RefusesBombsWithinMemoryLimit) {
  const std::size_t large = std::size_t{100} << 20;
  const std::string bomb = test::gzipped(idx(0x08, {static_cast<std::uint32_t>(large)}, std::string(large, '\0')));
  const std::string lie = idx(0x08, {0xFFFFFFFF, 2}, "");

  EXPECT_TRUE(test::within_memory(bomb.size(), [&] {
    const auto result = decode_idx(bomb);
    return !result && result.error().code == Code::kResourceExhausted;
  }));
  EXPECT_TRUE(test::within_memory(lie.size(), [&] { return !decode_idx(lie).ok(); }));
}

TEST(Idx, AllocatesOnlyTheTensor) {
  // The file is small, so that the limit is 64 MB: not enough for an unpacked copy.
  std::string data;
  for (std::uint64_t i = 0; i < 640; ++i) data += test::noise(1000, i) + std::string(64'536, '\0');
  const std::string file = test::gzipped(idx(0x08, {640, 65'536}, data));
  ASSERT_LT(4 * file.size(), data.size() / 4);

  EXPECT_TRUE(test::within_memory(file.size(), [&] { return decode_idx(file).ok(); }));
}

}  // namespace
}  // namespace lanista::formats
