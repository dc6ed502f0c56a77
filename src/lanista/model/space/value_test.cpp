#include <gtest/gtest.h>

#include <limits>

#include "lanista/model/space/domain.h"

namespace lanista::space {
namespace {

TEST(Value, TextIsShortAndKeepsNumbers) {
  EXPECT_EQ(value_text(true), "true");
  EXPECT_EQ(value_text(std::int64_t{-64}), "-64");
  EXPECT_EQ(value_text(0.1), "0.1");
  EXPECT_EQ(value_text(1e-5), "1e-05");
  EXPECT_EQ(value_text(std::string("adam")), "adam");
  EXPECT_EQ(std::stod(value_text(0.1 + 0.2)), 0.1 + 0.2);
}

TEST(Value, JsonRoundTripsWithItsType) {
  const std::vector<Value> values = {true,
                                     false,
                                     std::int64_t{0},
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min(),
                                     1.0,
                                     0.1 + 0.2,
                                     5e-324,
                                     std::string("1"),
                                     std::string()};

  for (const Value& value : values) {
    const auto back = value_from_json(nlohmann::json::parse(value_json(value).dump()));

    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(*back, value) << value_text(value);
  }
}

TEST(Value, RefusesOtherJson) {
  for (const char* text : {"null", "[1]", "{}", "18446744073709551615"}) {
    const auto value = value_from_json(nlohmann::json::parse(text));

    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, Code::kInvalidArgument);
    EXPECT_NE(value.error().message.find(text), std::string::npos) << value.error().message;
  }
}

TEST(Sample, JsonRoundTrips) {
  const Sample sample = {
      {"lr", 0.001}, {"optimizer", std::string("adam")}, {"batch", std::int64_t{32}}, {"bias", true}};

  const auto back = sample_from_json(nlohmann::json::parse(sample_json(sample).dump()));

  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(*back, sample);
  EXPECT_EQ(hash_sample(*back), hash_sample(sample));
}

TEST(Sample, JsonErrorsNameTheEntry) {
  const auto bad = sample_from_json({{"lr", nullptr}});

  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().where, "lr");
  EXPECT_FALSE(sample_from_json(nlohmann::json::array()).ok());
}

TEST(Sample, HashesDifferOnlyForDifferentSamples) {
  const Sample base = {{"a", 1.0}, {"b", std::string("x")}};

  EXPECT_EQ(hash_sample(base), hash_sample({{"b", std::string("x")}, {"a", 1.0}}));
  EXPECT_EQ(hash_sample({{"a", 0.0}}), hash_sample({{"a", -0.0}}));
  EXPECT_NE(hash_sample(base), hash_sample({{"a", 1.0}}));
  EXPECT_NE(hash_sample(base), hash_sample({{"a", 2.0}, {"b", std::string("x")}}));
  EXPECT_NE(hash_sample({{"a", std::int64_t{1}}}), hash_sample({{"a", 1.0}}));
  EXPECT_NE(hash_sample({{"a", std::int64_t{1}}}), hash_sample({{"a", true}}));
  EXPECT_NE(hash_sample({{"ab", std::string("c")}}), hash_sample({{"a", std::string("bc")}}));
}

}  // namespace
}  // namespace lanista::space
