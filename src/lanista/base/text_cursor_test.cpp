#include "lanista/base/text_cursor.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "lanista/base/expression_reader.h"
#include "lanista/base/parse_number.h"

namespace lanista {
namespace {

TEST(ParseNumber, ReadsTheWholeTextOnly) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("1e3"), 1000);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "99999999999", "1.5"}) {
    EXPECT_FALSE(parse_number<int>(text)) << text;
  }
}

TEST(Trim, RemovesBlanksOfBothEnds) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim(" \ta ", " "), "\ta");
  EXPECT_EQ(trim(" \t "), "");
}

TEST(TextCursor, AcceptsATokenBehindBlanks) {
  TextCursor cursor(" \t<= 3");

  EXPECT_FALSE(cursor.accept("<=="));
  EXPECT_EQ(cursor.position(), 2u);
  EXPECT_TRUE(cursor.next_is("<"));
  EXPECT_TRUE(cursor.accept("<="));
  EXPECT_EQ(cursor.rest(), " 3");
  EXPECT_EQ(cursor.found(1, "the end"), "' '");
  EXPECT_TRUE(cursor.accept("3"));
  EXPECT_EQ(cursor.peek(), '\0');
  EXPECT_EQ(cursor.found(1, "the end"), "the end");
}

TEST(TextCursor, ReadsNamesAndCharactersOfAClass) {
  TextCursor cursor(" _a1.b");

  EXPECT_EQ(cursor.peek_name(), "_a1");
  EXPECT_EQ(cursor.position(), 1u);
  EXPECT_EQ(cursor.read_while(is_letter), "_a");
  EXPECT_EQ(cursor.peek_name(), "");
  EXPECT_EQ(cursor.read_while(is_digit), "1");
  EXPECT_EQ(cursor.read_while(is_digit), "");
  EXPECT_EQ(cursor.rest(), ".b");
}

TEST(TextCursor, SkipsANumberOnlyIfItFits) {
  TextCursor cursor("12L1e999", "");

  EXPECT_FALSE(cursor.number<std::int64_t>(13));
  EXPECT_EQ(cursor.position(), 0u);
  EXPECT_EQ(cursor.number<std::int64_t>(12), 12);
  EXPECT_FALSE(cursor.number<std::int64_t>());
  cursor.advance(1);
  EXPECT_FALSE(cursor.number<double>());
  EXPECT_EQ(cursor.rest(), "1e999");
}

TEST(TextCursor, ReadsBetweenTwoQuotes) {
  TextCursor cursor("'a \"b'\"c");

  EXPECT_EQ(cursor.quoted(), "a \"b");
  EXPECT_FALSE(cursor.quoted());
  EXPECT_EQ(cursor.rest(), "\"c");
  cursor.move_to(8);
  EXPECT_FALSE(cursor.quoted());
}

/// Writes an expression of one-letter names with all its brackets.
class Bracketed final : public ExpressionReader<std::string> {
 public:
  static constexpr OperatorLevel kLevels[] = {
      {.between = {"="}, .chains = false}, {.between = {"+", "-"}}, {.before = "-"}, {.between = {"*"}}};
  explicit Bracketed(std::string_view text) : ExpressionReader(text, kLevels, 3, "too deep") {}

  std::string read() {
    const auto whole = expression();
    return whole ? *whole + std::string(rest()) : whole.error().message;
  }

 private:
  Result<std::string> operand() override {
    if (accept("(")) {
      auto inner = nested();
      if (inner && !accept(")")) return wrong("open");
      return inner;
    }
    const std::string name(peek_name());
    advance(name.size());
    if (name.empty()) return wrong("no name");
    return name;
  }
  std::string join(std::string_view word, std::vector<std::string> operands) override {
    if (operands.size() == 1) return "(" + std::string(word) + operands[0] + ")";
    return "(" + operands[0] + std::string(word) + operands[1] + ")";
  }
  Error wrong(const std::string& message) const override {
    return {Code::kInvalidArgument, message + " at " + std::to_string(position()), ""};
  }
};

TEST(ExpressionReader, JoinsByPrecedenceFromLeftToRight) {
  EXPECT_EQ(Bracketed("a - b + c * d * e").read(), "((a-b)+((c*d)*e))");
  EXPECT_EQ(Bracketed("- - a * b - c").read(), "((-(-(a*b)))-c)");
  EXPECT_EQ(Bracketed("(a - b) * c = d").read(), "(((a-b)*c)=d)");
}

TEST(ExpressionReader, StopsWhereAnOperatorDoesNotChain) { EXPECT_EQ(Bracketed("a = b = c").read(), "(a=b)= c"); }

TEST(ExpressionReader, LimitsTheDepthOfBracketsAndPrefixes) {
  EXPECT_EQ(Bracketed("((-a))").read(), "(-a)");
  EXPECT_EQ(Bracketed("(((-a)))").read(), "too deep at 4");
  EXPECT_EQ(Bracketed("-(a) - (b) - ((c))").read(), "(((-a)-b)-c)");
  EXPECT_EQ(Bracketed("a + (b -").read(), "no name at 8");
}

}  // namespace
}  // namespace lanista
