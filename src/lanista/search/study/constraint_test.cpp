#include "lanista/search/study/constraint.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

const std::map<std::string, double> kTrial{{"params", 40'000}, {"val_loss", 1.5}, {"lr", 0.1}, {"bad", NAN}};

std::optional<double> violation(const std::string& text) {
  const auto constraint = Constraint::parse(text);
  LANISTA_CHECK(constraint.ok(), constraint ? "" : constraint.error().text());
  return constraint->violation([](const std::string& name) -> std::optional<double> {
    const auto it = kTrial.find(name);
    return it == kTrial.end() ? std::nullopt : std::optional(it->second);
  });
}

TEST(Constraint, ReportsRelativeViolation) {
  EXPECT_EQ(violation("params <= 50k"), 0);
  EXPECT_EQ(violation("params<=40000"), 0);
  EXPECT_EQ(violation("params <= 10k"), 0.75);
  EXPECT_EQ(violation("50k >= params"), 0);
  EXPECT_EQ(violation("params >= 0.05M"), 0.2);
  EXPECT_DOUBLE_EQ(*violation("val_loss <= 1"), 1.0 / 3);
  EXPECT_EQ(violation("2 * (lr + 0.2) - val_loss / 3 <= 0.2"), 0);
  EXPECT_GT(*violation("2 * lr + 0.2 - val_loss / 3 <= -0.2"), 0);
  EXPECT_EQ(violation("-lr >= -1e-1"), 0);
}

TEST(Constraint, IsInfiniteForNanAndEmptyForMissingValue) {
  EXPECT_EQ(violation("bad <= 1"), HUGE_VAL);
  EXPECT_EQ(violation("flops <= 1"), std::nullopt);
  EXPECT_EQ(violation("lr / (lr - lr) <= 1"), HUGE_VAL);
}

TEST(Constraint, NamesWhyItIsUndefined) {
  const auto reason = [](const std::string& text) {
    return Constraint::parse(text)->undefined_reason([](const std::string& name) -> std::optional<double> {
      const auto it = kTrial.find(name);
      return it == kTrial.end() ? std::nullopt : std::optional(it->second);
    });
  };
  EXPECT_EQ(reason("val_loss / 0 <= 1"), "it divides by 0");
  EXPECT_EQ(reason("1 <= val_loss / (lr - lr)"), "it divides by 0");
  EXPECT_EQ(reason("(val_loss - val_loss) / (lr - lr) <= 1"), "it divides by 0");
  EXPECT_EQ(reason("bad / 0 <= 1"), "bad is NaN");
  EXPECT_EQ(reason("val_loss * 1e308 * 10 <= 1"), "a side of it is infinite");
  EXPECT_EQ(reason("val_loss / lr <= 1"), std::nullopt);
  EXPECT_EQ(reason("flops / 0 <= 1"), std::nullopt);
}

TEST(Constraint, FindsDivisorsThatAreAlwaysZero) {
  for (const std::string text :
       {"val_loss / 0 <= 1", "val_loss / (2 - 2) <= 1", "1 >= lr * (3 / -0)", "1 / (0 / 5) <= lr"}) {
    EXPECT_TRUE(Constraint::parse(text)->divides_by_zero()) << text;
  }
  for (const std::string text :
       {"val_loss / 2 <= 1", "val_loss / lr <= 0", "0 / val_loss <= 1", "1 / (lr - lr) <= 1"}) {
    EXPECT_FALSE(Constraint::parse(text)->divides_by_zero()) << text;
  }
}

TEST(Constraint, ReportsSlackOfConstraint) {
  const auto excess = [](const std::string& text) {
    return Constraint::parse(text)->excess([](const std::string& name) -> std::optional<double> {
      const auto it = kTrial.find(name);
      return it == kTrial.end() ? std::nullopt : std::optional(it->second);
    });
  };
  EXPECT_EQ(excess("params <= 50k"), -10'000);
  EXPECT_EQ(excess("params <= 10k"), 30'000);
  EXPECT_EQ(excess("val_loss >= 2"), 0.5);
  EXPECT_EQ(excess("params <= 40k"), 0);
  EXPECT_EQ(excess("bad <= 1"), HUGE_VAL);
  EXPECT_EQ(excess("flops <= 1"), std::nullopt);
}

TEST(Constraint, ReturnsNamesAndUpperBound) {
  EXPECT_EQ(Constraint::parse("a + b <= a * 2")->names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(Constraint::parse("lr <= val_loss")->is_measured());
  EXPECT_FALSE(Constraint::parse("lr <= momentum")->is_measured());
  EXPECT_EQ(Constraint::parse("params <= 200k")->upper_bound("params"), 200e3);
  EXPECT_EQ(Constraint::parse("200k >= params")->upper_bound("params"), 200e3);
  EXPECT_EQ(Constraint::parse("params <= 200k")->upper_bound("flops"), std::nullopt);
  EXPECT_EQ(Constraint::parse("params >= 200k")->upper_bound("params"), std::nullopt);
  EXPECT_EQ(Constraint::parse("params <= 2 * 3")->upper_bound("params"), std::nullopt);
}

TEST(Constraint, ReportsErrorAndPosition) {
  const std::string deep = std::string(40, '(') + "lr", negated = std::string(40, '-') + "lr", longest(1001, 'a');
  const std::pair<std::string, std::string> cases[] = {
      {"lr < 1", "at '< 1', '<=' or '>=' is wanted"},
      {"lr <=", "at its end, a name or a number is wanted"},
      {"(lr <= 1", "at '<= 1', ')' is wanted"},
      {"lr <= 1q", "at 'q', a number's unit is k, M or G"},
      {"lr <= 1 2", "at '2', an operator or the end is wanted"},
      {"1 <= 2", "at its end, it names nothing that a trial has"},
      {"lr <= 1e999", "at '1e999', the number is too large or malformed"},
      {deep, "at '((((((((lr', it is nested deeper than 32"},
      {negated, "at '--------lr', it is nested deeper than 32"},
      {longest, "at '" + longest.substr(0, 20) + "', it is longer than 1000 characters"}};
  for (const auto& [text, error] : cases) {
    const auto constraint = Constraint::parse(text);
    ASSERT_FALSE(constraint.ok()) << text;
    EXPECT_EQ(constraint.error().code, Code::kInvalidArgument);
    EXPECT_EQ(constraint.error().message, "'" + text.substr(0, 80) + "' is no constraint: " + error);
  }
}

TEST(Constraint, AcceptsAnyTextWithoutCrash) {
  Rng rng(7);
  const std::string alphabet = "ab1.k+-*/()<>= ~M";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t k = rng.below(14); k > 0; --k) text += alphabet[rng.below(alphabet.size())];
    const auto constraint = Constraint::parse(text);
    if (!constraint) continue;
    const auto broken = constraint->violation([](const std::string&) { return 2.0; });
    EXPECT_TRUE(broken && *broken >= 0) << text;
  }
}

}  // namespace
}  // namespace lanista::study
