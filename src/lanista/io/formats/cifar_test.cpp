#include "lanista/io/formats/cifar.h"

#include <gtest/gtest.h>

#include <string>

#include "support/io/formats/test_support.h"

namespace lanista::formats {
namespace {

void expect_error(const std::string& bytes, CifarKind kind, const std::string& rule) {
  const auto result = decode_cifar(bytes, kind);
  ASSERT_FALSE(result.ok()) << rule;
  EXPECT_EQ(result.error().code, Code::kDataLoss);
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
}

TEST(Cifar, ReadsBothKinds) {
  const std::string first = test::noise(3072, 1), second = test::noise(3072, 2);

  const auto ten = decode_cifar("\x09" + first + std::string(1, '\0') + second, CifarKind::k10);
  const auto hundred = decode_cifar("\x13\x63" + first, CifarKind::k100);

  ASSERT_TRUE(ten.ok()) << ten.error().message;
  EXPECT_EQ(ten->labels, (std::vector<std::uint8_t>{9, 0}));
  EXPECT_TRUE(ten->coarse.empty());
  EXPECT_EQ(std::string(ten->pixels.begin(), ten->pixels.end()), first + second);
  ASSERT_TRUE(hundred.ok()) << hundred.error().message;
  EXPECT_EQ(hundred->labels, std::vector<std::uint8_t>{99});
  EXPECT_EQ(hundred->coarse, std::vector<std::uint8_t>{19});
  EXPECT_EQ(std::string(hundred->pixels.begin(), hundred->pixels.end()), first);
}

TEST(Cifar, NamesViolatedRule) {
  const std::string pixels(3072, 'x');
  expect_error("", CifarKind::k10, "empty");
  expect_error("\x01" + pixels + "\x01", CifarKind::k10, "3074 bytes are not whole records of 3073");
  expect_error("\x01" + pixels, CifarKind::k100, "3073 bytes are not whole records of 3074");
  expect_error("\x01" + pixels + "\x0A" + pixels, CifarKind::k10, "record 1 has label 10; allowed are 0 to 9");
  expect_error("\x14\x01" + pixels, CifarKind::k100, "record 0 has label 20; allowed are 0 to 19");
  expect_error("\x01\x64" + pixels, CifarKind::k100, "record 0 has label 100; allowed are 0 to 99");
}

TEST(Cifar, RefusesEveryPrefix) {
  const std::string good = "\x01" + std::string(3072, 'x');
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(decode_cifar(good.substr(0, size), CifarKind::k10).ok());
  }
}

}  // namespace
}  // namespace lanista::formats
