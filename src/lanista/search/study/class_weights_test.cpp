#include <gtest/gtest.h>

#include "lanista/search/study/config.h"

namespace lanista::study {
namespace {

TEST(ClassWeights, RoundTripAsJson) {
  for (const char* text : {"null", "\"balanced\"", R"({"cat": 2.5})", R"({"a": 0, "b": 1000000})"}) {
    const auto json = nlohmann::json::parse(text);
    const auto read = read_class_weights(json);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read_class_weights(class_weights_json(*read)), *read) << text;
    EXPECT_EQ(static_cast<bool>(*read), !json.is_null()) << text;
  }
  EXPECT_FALSE(*read_class_weights("none"));
  EXPECT_TRUE(read_class_weights("balanced")->balanced);
  EXPECT_EQ(read_class_weights(nlohmann::json{{"cat", 2}})->of.at("cat"), 2.0);
}

TEST(ClassWeights, RejectInvalidValues) {
  for (const auto& [text, message] : {std::pair("\"equal\"", "balanced, or {CLASS: WEIGHT, ...}"),
                                      {"{}", "balanced, or {CLASS: WEIGHT, ...}"},
                                      {"[1, 2]", "balanced, or {CLASS: WEIGHT, ...}"},
                                      {R"({"a": -1})", "the weight of 'a' is -1, allowed is a number from 0 to 1e6"},
                                      {R"({"a": 1e7})", "from 0 to 1e6"},
                                      {R"({"a": "much"})", "the weight of 'a' is \"much\""}}) {
    const auto read = read_class_weights(nlohmann::json::parse(text));
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().where, kClassWeightsKey);
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace lanista::study
