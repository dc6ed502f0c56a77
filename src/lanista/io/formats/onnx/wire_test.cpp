#include "lanista/io/formats/onnx/wire.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/base/rng.h"

namespace lanista::formats {
namespace {

using std::string_literals::operator""s;

/// The error of reading a whole message; empty if there is none.
std::string walk_error(std::string_view message) {
  WireReader reader(message);
  while (true) {
    const auto more = reader.next();
    if (!more) {
      EXPECT_EQ(more.error().code, Code::kDataLoss);
      return more.error().message;
    }
    if (!*more) return "";
  }
}

void expect_broken(std::string_view message, const std::string& rule) {
  const std::string error = walk_error(message);
  EXPECT_NE(error.find(rule), std::string::npos) << "\"" << error << "\" for " << rule;
}

TEST(Wire, WritesTheKnownBytes) {
  WireWriter inner, out;
  inner.varint(1, 150);
  out.varint(1, 0).signed_varint(2, -1).fixed_float(3, 1.0F).fixed_double(4, -2.0).bytes(16, "hi").message(5, inner);

  EXPECT_EQ(out.str(),
            "\x08\x00"
            "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
            "\x1d\x00\x00\x80\x3f"
            "\x21\x00\x00\x00\x00\x00\x00\x00\xc0"
            "\x82\x01\x02hi"
            "\x2a\x03\x08\x96\x01"s);
}

TEST(Wire, ReadsBackWhatItWrites) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    const auto field = static_cast<int>(1 + rng.below((std::uint64_t{1} << 29) - 1));
    const std::uint64_t number = rng.next() >> rng.below(64);
    const auto integer = static_cast<std::int64_t>(rng.next());
    const double real = rng.normal();
    const std::string text(rng.below(300), 'x');
    WireWriter out;
    out.varint(field, number).signed_varint(field, integer).fixed_double(field, real).bytes(field, text);
    out.fixed_float(field, static_cast<float>(real));

    WireReader reader(out.str());
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(reader.field(), field);
    EXPECT_EQ(*reader.varint(), number);
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(*reader.integer(), integer);
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(*reader.fixed_double(), real);
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(*reader.bytes(), text);
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(*reader.fixed_float(), static_cast<float>(real));
    EXPECT_FALSE(*reader.next());
  }
}

TEST(Wire, NamesViolatedWireRule) {
  expect_broken("\x00\x00"s, "field number 0");
  expect_broken("\x80\x80\x80\x80\x80\x01\x00"s, "does not exist");
  expect_broken("\x08"s, "ends inside a number");
  expect_broken("\x08\x80"s, "ends inside a number");
  expect_broken("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s, "more than 64 bits");
  expect_broken("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s, "more than 64 bits");
  expect_broken("\x0a\x03hi"s, "takes 3 bytes, 2 are left");
  expect_broken("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "are left");
  expect_broken("\x0d\x00\x00\x00"s, "takes 4 bytes, 3 are left");
  expect_broken("\x09\x00"s, "takes 8 bytes, 1 are left");
  for (const char* group : {"\x0b", "\x0c", "\x0e", "\x0f"}) expect_broken(group, "groups are not");
}

TEST(Wire, RefusesAValueOfAnotherType) {
  WireWriter out;
  out.varint(7, 1);
  WireReader reader(out.str());
  ASSERT_TRUE(*reader.next());

  for (const Error& error : {reader.bytes().error(), reader.fixed_float().error(), reader.fixed_double().error()}) {
    EXPECT_EQ(error.code, Code::kDataLoss);
    EXPECT_NE(error.message.find("field 7 holds a number"), std::string::npos) << error.message;
  }
}

TEST(Wire, ReadsPackedNumbers) {
  std::string_view packed = "\x01\x96\x01\x80";

  EXPECT_EQ(*consume_varint(packed), 1U);
  EXPECT_EQ(*consume_varint(packed), 150U);
  const auto cut = consume_varint(packed);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, Code::kDataLoss);
}

TEST(Wire, HandlesRandomBytes) {
  Rng rng(4);
  int whole = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(rng.below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.next() & (rng.bernoulli(0.5) ? 0x1f : 0xff));
    whole += walk_error(bytes).empty() ? 1 : 0;
  }
  EXPECT_GT(whole, 100);
  EXPECT_LT(whole, 4900);
}

}  // namespace
}  // namespace lanista::formats
