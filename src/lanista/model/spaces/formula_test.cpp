#include "lanista/model/spaces/formula.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"

namespace lanista::mutate {
namespace {

using space::Value;

Result<Value> lookup(const std::string& name) {
  if (name == "width") return Value(std::int64_t{32});
  if (name == "k") return Value(std::int64_t{3});
  if (name == "wide") return Value(true);
  if (name == "rate") return Value(0.25);
  if (name == "act") return Value(std::string("relu"));
  return Error{Code::kNotFound, "no " + name, ""};
}

std::string shown(const std::string& text) {
  const auto parsed = Expression::parse(text);
  if (!parsed) return parsed.error().message;
  const auto value = parsed->evaluate(lookup);
  return value ? space::value_text(*value) : value.error().message;
}

TEST(Formula, EvaluatesLikePython) {
  EXPECT_EQ(shown("2 * width"), "64");
  EXPECT_EQ(shown("2 + 3 * 4 ** 2"), "50");
  EXPECT_EQ(shown("2 ** 3 ** 2"), "512");
  EXPECT_EQ(shown("-2 ** 2"), "-4");
  EXPECT_EQ(shown("2 ** -1"), "0.5");
  EXPECT_EQ(shown("7 // 2"), "3");
  EXPECT_EQ(shown("-7 // 2"), "-4");
  EXPECT_EQ(shown("-7 % 3"), "2");
  EXPECT_EQ(shown("7 % -3"), "-2");
  EXPECT_EQ(shown("7 / 2"), "3.5");
  EXPECT_EQ(shown("width * rate"), "8");
  EXPECT_EQ(shown("min(width, 5, k)"), "3");
  EXPECT_EQ(shown("max(width, 5.5)"), "32");
  EXPECT_EQ(shown("round(7 / 2) + floor(2.9) + ceil(2.1)"), "9");
  EXPECT_EQ(shown("(1 + 2) * (3 - 5)"), "-6");
  EXPECT_EQ(shown("10 - 3 - 2"), "5");
}

TEST(Formula, EvaluatesConditions) {
  EXPECT_EQ(shown("16 if wide else 8"), "16");
  EXPECT_EQ(shown("16 if not wide else 8 if k == 3 else 4"), "8");
  EXPECT_EQ(shown("act == 'relu'"), "true");
  EXPECT_EQ(shown("act != \"relu\" or k >= 3 and width < 33"), "true");
  EXPECT_EQ(shown("k == 3.0"), "true");
  EXPECT_EQ(shown("act == 3"), "false");
  // Branches that are not selected are not looked up.
  EXPECT_EQ(shown("1 if wide else unknown"), "1");
  EXPECT_EQ(shown("wide or unknown"), "true");
}

TEST(Formula, ListsNamesItReads) {
  const auto parsed = Expression::parse("a + b * a if c else min(d, 1)");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->names(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(Formula, ReportsParseErrorPosition) {
  EXPECT_EQ(shown("2 *"), "formula \"2 *\", column 4: the formula ends too early");
  EXPECT_EQ(shown("2 width"), "formula \"2 width\", column 3: 'width' does not belong here");
  EXPECT_EQ(shown("2width"), "formula \"2width\", column 2: a name cannot begin with a digit");
  EXPECT_EQ(shown("(2"), "formula \"(2\", column 3: expected ')'");
  EXPECT_EQ(shown("1 if wide"), "formula \"1 if wide\", column 10: expected 'else'");
  EXPECT_EQ(shown("a ? b"), "formula \"a ? b\", column 3: '?' does not belong here");
  EXPECT_EQ(shown("sin(1)"),
            "formula \"sin(1)\", column 4: 'sin' is no function; there are min, max, round, floor, ceil");
  EXPECT_EQ(shown("floor(1, 2)"), "formula \"floor(1, 2)\", column 12: floor takes one number");
  EXPECT_EQ(shown("'a"), "formula \"'a\", column 1: a text that does not end");
  EXPECT_TRUE(shown(std::string(70, '(')).ends_with("column 65: nested more than 64 deep"));
}

TEST(Formula, ReportsEvaluationErrors) {
  EXPECT_EQ(shown("k / 0"), "\"k / 0\": 3 / 0: division by zero");
  EXPECT_EQ(shown("k % 0"), "\"k % 0\": 3 % 0: division by zero");
  EXPECT_EQ(shown("10 ** 30"), "\"10 ** 30\": 10 ** 30 is beyond 64 bits");
  EXPECT_EQ(shown("act * 2"), "\"act * 2\": relu * 2: only numbers have arithmetic");
  EXPECT_EQ(shown("act < 2"), "\"act < 2\": relu < 2: only numbers have an order");
  EXPECT_EQ(shown("1 if k else 2"), "\"1 if k else 2\": 3 is neither true nor false");
  EXPECT_EQ(shown("1e300 * 1e300"), "\"1e300 * 1e300\": 1e+300 * 1e+300 is not a finite number");
  EXPECT_EQ(shown("nothing"), "\"nothing\": no nothing");
}

TEST(Formula, SurvivesAnyText) {
  const std::string letters = "ab1.2*/%+-() <>=!'\"if else and not min,";
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng = Rng(3).split(seed);
    std::string text;
    for (auto n = rng.below(24); n > 0; --n) text += letters[rng.below(letters.size())];
    const auto parsed = Expression::parse(text);
    if (!parsed) {
      EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
      EXPECT_NE(parsed.error().message.find("column"), std::string::npos);
      continue;
    }
    static_cast<void>(parsed->evaluate([](const std::string&) -> Result<Value> { return Value(std::int64_t{2}); }));
  }
}

}  // namespace
}  // namespace lanista::mutate
