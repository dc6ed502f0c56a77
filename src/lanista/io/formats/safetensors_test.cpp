#include "lanista/io/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lanista/base/rng.h"
#include "support/io/formats/test_support.h"

namespace lanista::formats {
namespace {

using test::tensor;

/// A file with this header and so many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + std::string(data_bytes, 'x');
}

void expect_broken(const std::string& header, std::size_t data_bytes, const std::string& rule,
                   Code code = Code::kDataLoss) {
  const auto result = decode_safetensors(file_of(header, data_bytes));
  ASSERT_FALSE(result.ok()) << header;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
}

SafetensorsFile sample_file() {
  return {.tensors = {tensor<float>("w", ElementType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                      tensor<std::uint8_t>("odd", ElementType::kU8, {3}, {7, 8, 9}),
                      tensor<double>("d", ElementType::kF64, {}, {0.1}),
                      tensor<std::int64_t>("none", ElementType::kI64, {0, 4}, {}),
                      tensor<std::int32_t>("i \"quoted\" \n ü", ElementType::kI32, {1}, {-5})},
          .metadata = {{"step", "17"}, {"note", "a \"b\" ü"}}};
}

TEST(Safetensors, RoundTripsAndAlignsItsData) {
  const SafetensorsFile file = sample_file();

  const auto bytes = encode_safetensors(file);
  ASSERT_TRUE(bytes.ok());
  const auto back = decode_safetensors(*bytes);

  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->tensors, file.tensors);
  EXPECT_EQ(back->metadata, file.metadata);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes->data(), 8);
  EXPECT_EQ((8 + header) % 64, 0U);
}

TEST(Safetensors, WritesTheKnownBytes) {
  const auto bytes = encode_safetensors(
      {.tensors = {tensor<std::uint8_t>("a", ElementType::kU8, {2}, {65, 66})}, .metadata = {{"k", "v"}}});

  ASSERT_TRUE(bytes.ok());
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_EQ(*bytes, std::string("\x78\0\0\0\0\0\0\0", 8) + header + std::string(120 - header.size(), ' ') + "AB");
}

TEST(Safetensors, RoundTripsAFileWithoutTensors) {
  const auto bytes = encode_safetensors({});
  ASSERT_TRUE(bytes.ok());
  const auto back = decode_safetensors(*bytes);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(back->tensors.empty());
}

TEST(Safetensors, RefusesToWriteInvalidFile) {
  const Tensor good = tensor<float>("w", ElementType::kF32, {1}, {1});
  const Tensor reserved = tensor<float>("__metadata__", ElementType::kF32, {1}, {1});
  const Tensor lying = tensor<float>("w", ElementType::kF32, {2}, {1});
  const Tensor no_text = tensor<float>("\xFF", ElementType::kF32, {1}, {1});
  for (const SafetensorsFile& file : {SafetensorsFile{{good, good}, {}}, SafetensorsFile{{reserved}, {}},
                                      SafetensorsFile{{lying}, {}}, SafetensorsFile{{no_text}, {}}}) {
    const auto result = encode_safetensors(file);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  }
}

TEST(Safetensors, NamesViolatedHeaderRule) {
  const auto entry = [](const std::string& name, const std::string& shape, int begin, int end) {
    return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[)" + std::to_string(begin) + "," +
           std::to_string(end) + "]}";
  };
  const std::string a = entry("a", "[1]", 0, 4), b = entry("b", "[1]", 4, 8);
  ASSERT_TRUE(decode_safetensors(file_of("{" + a + "," + b + "}", 8)).ok());
  ASSERT_TRUE(decode_safetensors(file_of("{" + b + "," + a + "}  ", 8)).ok());

  expect_broken("{" + a + "," + a + "}", 4, "stands twice");
  expect_broken("{" + a + "," + entry("b", "[1]", 0, 4) + "}", 4, "overlap");
  expect_broken("{" + a + "," + entry("b", "[1]", 2, 6) + "}", 6, "overlap");
  expect_broken("{" + a + "," + entry("b", "[1]", 8, 12) + "}", 12, "hole");
  expect_broken("{" + b + "}", 8, "hole");
  expect_broken("{" + a + "}", 8, "belong to no tensor");
  expect_broken("{" + a + "," + b + "}", 7, "outside");
  expect_broken("{" + entry("a", "[1]", 4, 0) + "}", 4, "outside");
  expect_broken("{" + entry("a", "[2]", 0, 4) + "}", 4, "needs 8 bytes");
  expect_broken("{" + entry("a", "[4611686018427387904,4]", 0, 0) + "}", 0, "overflows");
  expect_broken("{" + entry("a", "[0,9223372036854775807,9]", 0, 0) + "}", 0, "overflows");
  expect_broken("{" + entry("a", "[9223372036854775808]", 0, 0) + "}", 0, "above 2^63");
  expect_broken("{" + entry("a", "[-1]", 0, 4) + "}", 4, "negative");
  expect_broken("{" + entry("a", "[1.0]", 0, 4) + "}", 4, "no integer");
  expect_broken("{" + entry("a", "[[1]]", 0, 4) + "}", 4, "a list");
  expect_broken("{" + entry("a", "4", 0, 4) + "}", 4, "a number");
  expect_broken("{" + a, 4, "not valid JSON");
  expect_broken("{" + a + "} x", 4, "not valid JSON");
  expect_broken(" {" + a + "}", 4, "does not begin with '{'");
  expect_broken("[]", 0, "does not begin with '{'");
  expect_broken("", 0, "does not begin with '{'");
  expect_broken("{\"a\xFF\":1}", 0, "not valid JSON");
  expect_broken(R"({"a":3})", 0, "not an object");
  expect_broken(R"({"a":[]})", 0, "not an object");
  expect_broken(R"({"a":{"dtype":"F32","shape":[1]}})", 4, "lacks");
  expect_broken(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "twice");
  expect_broken(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, "unknown key \"x\"");
  expect_broken(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "lacks one");
  expect_broken(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4, "more than two");
  expect_broken(R"({"a":{"dtype":"X32","shape":[1],"data_offsets":[0,4]}})", 4, "does not know");
  expect_broken(R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", 4, "not a text");
  expect_broken(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4, "BF16", Code::kUnimplemented);
  expect_broken(R"({"__metadata__":{"k":1}})", 0, "not a text");
  expect_broken(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "twice");
  expect_broken(R"({"__metadata__":[]})", 0, "not an object");
}

TEST(Safetensors, CapsRankTensorsAndHeader) {
  std::string deep = R"({"a":{"dtype":"F32","data_offsets":[0,4],"shape":[1)";
  for (int i = 0; i < 64; ++i) deep += ",1";
  expect_broken(deep + "]}}", 4, "more than 64 dimensions");

  std::string texts = R"({"__metadata__":{)";
  for (int i = 0; i <= 50'000; ++i) texts += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
  expect_broken(texts + "}}", 0, "__metadata__ has more than 50000 entries");

  std::string many = "{";
  for (int i = 0; i <= 50'000; ++i) {
    many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  expect_broken(many + "}", 0, "more than 50000 tensors");

  expect_broken("{" + std::string(std::size_t{16} << 20, ' ') + "}", 0, "at most 16777216");
  expect_broken("{" + std::string(std::size_t{1} << 20, '['), 0, "not valid JSON");
}

TEST(Safetensors, RefusesALengthBeyondTheFile) {
  for (const std::string& bytes : {std::string(), std::string("\x02\0\0\0\0\0\0", 7),
                                   std::string("\x03\0\0\0\0\0\0\0{}", 10), std::string(8, '\xFF') + "{}"}) {
    const auto result = decode_safetensors(bytes);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kDataLoss);
  }
}

TEST(Safetensors, HandlesEachFlippedHeaderByte) {
  const auto bytes = encode_safetensors(sample_file());
  ASSERT_TRUE(bytes.ok());
  std::uint64_t header = 0;
  std::memcpy(&header, bytes->data(), 8);
  int refused = 0;
  for (std::size_t i = 0; i < 8 + header; ++i) {
    for (const int mask : {0x01, 0x20, 0x80, 0xFF}) {
      std::string bad = *bytes;
      bad[i] = static_cast<char>(bad[i] ^ mask);
      const auto result = decode_safetensors(bad);
      if (!result) {
        ++refused;
        EXPECT_FALSE(result.error().message.empty());
        continue;
      }
      // What is accepted keeps every rule: it can be written again.
      const auto reread = encode_safetensors(*result);
      ASSERT_TRUE(reread.ok()) << reread.error().message;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Safetensors, HandlesRandomCorruptionAndTruncation) {
  const auto bytes = encode_safetensors(sample_file());
  ASSERT_TRUE(bytes.ok());
  for (std::size_t size = 0; size < bytes->size(); ++size) {
    EXPECT_FALSE(decode_safetensors(std::string_view(*bytes).substr(0, size)).ok());
  }
  Rng rng(5);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = *bytes;
    for (std::uint64_t k = 1 + rng.below(4); k-- > 0;)
      bad[8 + rng.below(bad.size() - 8)] = "{}[]\",:019a "[rng.below(12)];
    const auto result = decode_safetensors(bad);
    if (result) {
      EXPECT_TRUE(encode_safetensors(*result).ok());
    }
  }
}

}  // namespace
}  // namespace lanista::formats
