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

/// Formulas, each with its value or error message.
void expect_shown(std::initializer_list<std::pair<std::string, std::string>> cases) {
  for (const auto& [formula, expected] : cases) EXPECT_EQ(shown(formula), expected) << formula;
}

TEST(Formula, EvaluatesLikePython) {
  expect_shown({{"2 * width", "64"},
                {"2 + 3 * 4 ** 2", "50"},
                {"2 ** 3 ** 2", "512"},
                {"-2 ** 2", "-4"},
                {"2 ** -1", "0.5"},
                {"7 // 2", "3"},
                {"-7 // 2", "-4"},
                {"-7 % 3", "2"},
                {"7 % -3", "-2"},
                {"7 / 2", "3.5"},
                {"width * rate", "8"},
                {"min(width, 5, k)", "3"},
                {"max(width, 5.5)", "32"},
                {"round(7 / 2) + floor(2.9) + ceil(2.1)", "9"},
                {"(1 + 2) * (3 - 5)", "-6"},
                {"10 - 3 - 2", "5"}});
}

TEST(Formula, EvaluatesConditions) {
  expect_shown({{"16 if wide else 8", "16"},
                {"16 if not wide else 8 if k == 3 else 4", "8"},
                {"act == 'relu'", "true"},
                {"act != \"relu\" or k >= 3 and width < 33", "true"},
                {"k == 3.0", "true"},
                {"act == 3", "false"},
                // Branches that are not selected are not looked up.
                {"1 if wide else unknown", "1"},
                {"wide or unknown", "true"}});
}

TEST(Formula, ListsNamesItReads) {
  const auto parsed = Expression::parse("a + b * a if c else min(d, 1)");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->names(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(Formula, ReportsParseErrorPosition) {
  const std::pair<std::string, std::string> cases[] = {
      {"2 *", "4: the formula ends too early"},
      {"2 width", "3: 'width' does not belong here"},
      {"2width", "2: a name cannot begin with a digit"},
      {"(2", "3: expected ')'"},
      {"1 if wide", "10: expected 'else'"},
      {"a ? b", "3: '?' does not belong here"},
      {"sin(1)", "4: 'sin' is no function; there are min, max, round, floor, ceil"},
      {"floor(1, 2)", "12: floor takes one number"},
      {"'a", "1: a text that does not end"},
      {std::string(70, '('), "65: nested more than 64 deep"}};
  for (const auto& [formula, error] : cases) EXPECT_EQ(shown(formula), "formula \"" + formula + "\", column " + error);
}

TEST(Formula, ReportsEvaluationErrors) {
  expect_shown({{"k / 0", "\"k / 0\": 3 / 0: division by zero"},
                {"k % 0", "\"k % 0\": 3 % 0: division by zero"},
                {"10 ** 30", "\"10 ** 30\": 10 ** 30 is beyond 64 bits"},
                {"act * 2", "\"act * 2\": relu * 2: only numbers have arithmetic"},
                {"act < 2", "\"act < 2\": relu < 2: only numbers have an order"},
                {"1 if k else 2", "\"1 if k else 2\": 3 is neither true nor false"},
                {"1e300 * 1e300", "\"1e300 * 1e300\": 1e+300 * 1e+300 is not a finite number"},
                {"nothing", "\"nothing\": no nothing"}});
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
