#include "lanista/base/options.h"

#include <gtest/gtest.h>

#include "lanista/base/check.h"

namespace lanista {
namespace {

using Kind = OptionSpec::Kind;
using nlohmann::json;

std::vector<OptionSpec> schema() {
  return {
      {"population", Kind::kInt, 24, 2, 1000, {}, "models that live at once"},
      {"momentum", Kind::kReal, 0, 0, std::nullopt, {}, "of the optimiser"},
      {"rule", Kind::kText, "asha", {}, {}, {"asha", "median", "none"}, "rule that stops trials"},
      {"by", Kind::kRealList, json::array({0.5, 2}), 0.01, {}, {}, "factors"},
      {"to", Kind::kTextList, json::array(), {}, {}, {"relu", "gelu"}, "operators"},
      {"rungs", Kind::kIntList, json::array({1, 3, 9}), 1, {}, {}, "budgets"},
      {"strict", Kind::kBool, false, {}, {}, {}, "a switch"},
  };
}

void expect_error(const json& given, const std::string& where, const std::string& part) {
  const auto result = resolve_options(given, schema());

  ASSERT_FALSE(result.ok()) << given.dump();
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  EXPECT_EQ(result.error().where, where);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(Options, FillsDefaults) {
  const auto options = resolve_options(nullptr, schema());

  ASSERT_TRUE(options.ok()) << options.error().text();
  EXPECT_EQ(options->dump(),
            R"({"by":[0.5,2.0],"momentum":0.0,"population":24,"rule":"asha","rungs":[1,3,9],"strict":false,"to":[]})");
}

TEST(Options, KeepsValuesAndConvertsIntegersToReals) {
  const auto options = resolve_options({{"momentum", 1}, {"population", 2}, {"to", {"gelu"}}}, schema());

  ASSERT_TRUE(options.ok()) << options.error().text();
  EXPECT_TRUE((*options)["momentum"].is_number_float());
  EXPECT_EQ((*options)["population"], 2);
  EXPECT_EQ((*options)["to"], json::array({"gelu"}));
}

TEST(Options, ResolvingTwiceChangesNothing) {
  const auto once = resolve_options({{"by", {1, 3}}}, schema());
  ASSERT_TRUE(once.ok());

  const auto twice = resolve_options(*once, schema());

  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(*once, *twice);
}

TEST(Options, NamesTheNearestKnownOption) {
  expect_error({{"popluation", 3}}, "popluation", "did you mean 'population'?");
  expect_error({{"qqqqqqqqqq", 3}}, "qqqqqqqqqq", "known: population, momentum");
}

TEST(Options, RefusesWrongKinds) {
  expect_error({{"population", 2.5}}, "population", "expected a whole number, not 2.5");
  expect_error({{"population", nullptr}}, "population", "not null");
  expect_error({{"momentum", "much"}}, "momentum", "expected a number, not \"much\"");
  expect_error({{"strict", 1}}, "strict", "expected true or false, not 1");
  expect_error({{"by", 2}}, "by", "expected a list, each element a number, not 2");
  expect_error({{"rungs", {1, 2.5}}}, "rungs", "expected a whole number, not 2.5");
  expect_error(json::array({1}), "", "must be a map");
}

TEST(Options, RefusesValuesOutOfBounds) {
  expect_error({{"population", 1}}, "population", "1 is out of bounds; it must be between 2 and 1000");
  expect_error({{"momentum", -0.5}}, "momentum", "-0.5 is out of bounds; it must be at least 0");
  expect_error({{"by", {0.5, 0}}}, "by", "at least 0.01");
  expect_error({{"population", 18446744073709551615ULL}}, "population", "does not fit into 64 bits");
}

TEST(Options, RefusesUnknownTexts) {
  expect_error({{"rule", "ashaa"}}, "rule", "did you mean 'asha'? (allowed: asha, median, none)");
  expect_error({{"to", {"relu", "rulu"}}}, "to", "unknown value 'rulu'");
}

TEST(Options, RequiresOptionsWithoutDefault) {
  const auto result = resolve_options(json::object(), {{"file", Kind::kText, nullptr, {}, {}, {}, "a path"}});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "option 'file' must be given: expected a text");
}

TEST(Options, InvalidDefaultIsInternalError) {
  EXPECT_THROW((void)resolve_options(nullptr, {{"n", Kind::kInt, 0, 1, {}, {}, ""}}), InternalError);
}

}  // namespace
}  // namespace lanista
