#include "lanista/io/formats/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "lanista/base/rng.h"
#include "support/io/formats/test_support.h"

namespace lanista::formats {
namespace {

std::string npy(const std::string& text, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return out + text + data;
}

std::string header(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

void expect_error(const std::string& bytes, Code code, const std::string& rule) {
  const auto result = decode_npy(bytes);
  ASSERT_FALSE(result.ok()) << rule;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
}

using test::values;

TEST(Npy, RoundTripsEveryElementType) {
  for (const auto type :
       {ElementType::kF32, ElementType::kF64, ElementType::kI32, ElementType::kI64, ElementType::kU8}) {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {3}, {2, 3}, {0, 5}}) {
      Tensor t{.name = "", .type = type, .shape = shape, .bytes = {}};
      t.bytes.resize(static_cast<std::size_t>(t.elements()) * element_size(type), std::byte{3});

      const std::string bytes = encode_npy(t);
      const auto back = decode_npy(bytes);

      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(*back, t);
      EXPECT_EQ((bytes.size() - t.bytes.size()) % 64, 0U);
    }
  }
}

TEST(Npy, ReadsAllVersions) {
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(values<std::uint8_t>(decode_npy(npy(header("|u1", "(2,)"), "\x07\x09", version))),
              (std::vector<std::uint8_t>{7, 9}));
  }
  expect_error(npy(header("|u1", "(2,)"), "ab", 4), Code::kDataLoss, "version 4.0");
}

TEST(Npy, ReadsEveryWidthInBothByteOrders) {
  using namespace std::string_literals;
  EXPECT_EQ(values<std::int32_t>(decode_npy(npy(header("|i1", "(1,)"), "\xFE"))), std::vector<std::int32_t>{-2});
  EXPECT_EQ(values<std::int32_t>(decode_npy(npy(header("<i2", "(1,)"), "\xFE\xFF"))), std::vector<std::int32_t>{-2});
  EXPECT_EQ(values<std::int32_t>(decode_npy(npy(header(">i2", "(1,)"), "\xFF\xFE"))), std::vector<std::int32_t>{-2});
  EXPECT_EQ(values<std::int32_t>(decode_npy(npy(header(">u2", "(1,)"), "\xFF\xFE"))), std::vector<std::int32_t>{65534});
  EXPECT_EQ(values<std::int32_t>(decode_npy(npy(header(">i4", "(1,)"), "\0\0\1\2"s))), std::vector<std::int32_t>{258});
  EXPECT_EQ(values<std::int64_t>(decode_npy(
                npy(header("<u8", "(2,)"), std::string("\x02\0\0\0\0\0\0\0", 8) + "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"))),
            (std::vector<std::int64_t>{2, std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(values<std::int64_t>(decode_npy(npy(header(">u8", "(1,)"), std::string("\0\0\0\0\0\0\0\x02", 8)))),
            std::vector<std::int64_t>{2});
  expect_error(npy(header("<u8", "(2,)"), std::string(15, '\0') + '\x80'), Code::kUnimplemented,
               "element 1 of dtype uint64 is 9223372036854775808; the largest that is held is 9223372036854775807");
  EXPECT_EQ(values<std::int64_t>(decode_npy(npy(header("<u4", "(1,)"), "\xFF\xFF\xFF\xFF"))),
            std::vector<std::int64_t>{4294967295});
  EXPECT_EQ(values<std::int64_t>(decode_npy(npy(header(">i8", "()"), "\0\0\0\0\0\0\1\0"s))),
            std::vector<std::int64_t>{256});
  EXPECT_EQ(values<float>(decode_npy(npy(header(">f4", "(1,)"), "\x3F\xC0\0\0"s))), std::vector<float>{1.5F});
  EXPECT_EQ(values<double>(decode_npy(npy(header("<f8", "(1,)"), "\0\0\0\0\0\0\xF8\x3F"s))), std::vector<double>{1.5});
  EXPECT_EQ(values<std::uint8_t>(decode_npy(npy(header("|b1", "(2,)"), "\1\0"s))), (std::vector<std::uint8_t>{1, 0}));
}

TEST(Npy, ConvertsHalfPrecisionExactly) {
  using namespace std::string_literals;
  // 1, -2, smallest subnormal, largest subnormal, largest, -inf, nan
  const auto v = values<float>(decode_npy(npy(header("<f2", "(7,)"), "\0\x3C\0\xC0\1\0\xFF\3\xFF\x7B\0\xFC\1\x7E"s)));
  ASSERT_EQ(v.size(), 7U);
  EXPECT_EQ(v[0], 1.0F);
  EXPECT_EQ(v[1], -2.0F);
  EXPECT_EQ(v[2], 0x1p-24F);
  EXPECT_EQ(v[3], 1023 * 0x1p-24F);
  EXPECT_EQ(v[4], 65504.0F);
  EXPECT_TRUE(std::isinf(v[5]) && v[5] < 0);
  EXPECT_TRUE(std::isnan(v[6]));
}

TEST(Npy, TurnsFortranOrderIntoRowMajor) {
  // [[0, 1, 2], [3, 4, 5]] lies by columns.
  EXPECT_EQ(values<std::uint8_t>(decode_npy(npy(header("|u1", "(2, 3)", "True"), std::string("\0\3\1\4\2\5", 6)))),
            (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
  // Element (i, j, k) of a [2, 3, 2] array lies at i + 2 j + 6 k.
  std::string data(12, '\0');
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 2; ++k)
        data[static_cast<std::size_t>(i + 2 * j + 6 * k)] = static_cast<char>(i * 6 + j * 2 + k);
    }
  }
  EXPECT_EQ(values<std::uint8_t>(decode_npy(npy(header("|u1", "(2, 3, 2)", "True"), data))),
            (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Npy, RefusesObjectAndUnsupportedDtypes) {
  expect_error(npy(header("|O", "(1,)"), "xxxxxxxx"), Code::kUnimplemented, "pickles");
  expect_error(npy(header("O", "(1,)"), "xxxxxxxx"), Code::kUnimplemented, "pickles");
  expect_error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "xxxx"), Code::kUnimplemented,
               "structured");
  for (const std::string descr : {"<c8", "<c16", "<U3", "|S4", "<f16", "<m8[s]", "", "<", "<f", "<f3", "|V4"}) {
    expect_error(npy(header(descr, "(1,)"), "xxxxxxxx"), Code::kUnimplemented, "not held");
  }
}

TEST(Npy, RefusesInconsistentShape) {
  expect_error(npy(header("<f4", "(2,)"), "xxxx"), Code::kDataLoss, "needs 8 bytes, the file has 4");
  expect_error(npy(header("<f4", "(1,)"), "xxxxx"), Code::kDataLoss, "needs 4 bytes, the file has 5");
  expect_error(npy(header("<f4", "(4611686018427387904, 4)"), ""), Code::kDataLoss, "overflows");
  expect_error(npy(header("<f4", "(0, 4611686018427387904, 4)"), ""), Code::kDataLoss, "overflows");
  // Two bytes for each element in the file, four in memory.
  expect_error(npy(header("<i2", "(0, 2305843009213693952)"), ""), Code::kDataLoss, "overflows");
  expect_error(npy(header("<f4", "(-1,)"), "xxxx"), Code::kDataLoss, "a dimension from 0");
  expect_error(npy(header("<f4", "(99999999999999999999,)"), "xxxx"), Code::kDataLoss, "a dimension from 0");
}

TEST(Npy, ReportsPositionOfHeaderError) {
  expect_error("", Code::kDataLoss, "does not begin");
  expect_error("PK\3\4", Code::kDataLoss, "does not begin");
  expect_error("\x93NUMPY\1", Code::kDataLoss, "ends inside");
  expect_error(npy("", ""), Code::kDataLoss, "expected '{', found its end");
  expect_error(npy("{'descr': '<f4'}", ""), Code::kDataLoss, "all of");
  expect_error(npy("{'descr': '<f4', 'descr': '<f4'}", ""), Code::kDataLoss, "stands twice");
  expect_error(npy("{'x': 1}", ""), Code::kDataLoss, "one of descr");
  expect_error(npy("{'descr': '<f4}", ""), Code::kDataLoss, "closing quote");
  expect_error(npy(header("<f4", "(1,)", "Maybe"), "xxxx"), Code::kDataLoss, "True or False");
  expect_error(npy(header("<f4", "(1 2)"), "xxxx"), Code::kDataLoss, "expected ','");
  expect_error(npy(header("<f4", "(1,)") + "import os", "xxxx"), Code::kDataLoss, "nothing behind");
  std::string deep = "(1";
  for (int i = 0; i < 32; ++i) deep += ",1";
  expect_error(npy(header("<f4", deep + ")"), "xxxx"), Code::kDataLoss, "at most 32 dimensions");
}

TEST(Npy, HandlesTruncationAndRandomCorruption) {
  const std::string good = npy(header("<f4", "(2, 3)", "True"), std::string(24, 'x'));
  ASSERT_TRUE(decode_npy(good).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_npy(std::string_view(good).substr(0, size)).ok());
  }
  Rng rng(6);
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (std::uint64_t k = 1 + rng.below(3); k-- > 0;) bad[rng.below(bad.size())] = static_cast<char>(rng.below(256));
    const auto result = decode_npy(bad);
    if (result) {
      EXPECT_EQ(result->bytes.size(), static_cast<std::size_t>(result->elements()) * element_size(result->type));
    }
  }
}

}  // namespace
}  // namespace lanista::formats
