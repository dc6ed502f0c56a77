#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lanista/model/spaces/formula.h"

namespace lanista::mutate {

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxLength = 4096;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

/// A recursive-descent parser with one function for each level of precedence.
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) : text_(text) { out_.text_ = std::string(text); }

  Result<Expression> run() {
    if (text_.size() > kMaxLength) return wrong("a formula has at most " + std::to_string(kMaxLength) + " characters");
    LANISTA_TRY(whole());
    if (!next_word().empty()) return wrong("'" + next_word() + "' does not belong here");
    return std::move(out_);
  }

 private:
  using Kind = Expression::Kind;
  using Position = Result<std::size_t>;

  Error wrong(const std::string& message) const {
    return {Code::kInvalidArgument,
            "formula \"" + std::string(text_.substr(0, kMaxLength)) + "\", column " + std::to_string(at_ + 1) + ": " +
                message,
            ""};
  }

  /// Returns the next word: a name, the first digit of a number, or an operator; empty at the end.
  std::string next_word() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ == text_.size()) return "";
    if (is_letter(text_[at_])) {
      std::size_t end = at_;
      while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
      return std::string(text_.substr(at_, end - at_));
    }
    for (const std::string_view two : {"**", "//", "==", "!=", "<=", ">="}) {
      if (text_.substr(at_, 2) == two) return std::string(two);
    }
    return std::string(text_.substr(at_, 1));
  }
  bool take(std::string_view word) {
    if (next_word() != word) return false;
    at_ += word.size();
    return true;
  }
  Result<void> want(std::string_view word) {
    if (take(word)) return {};
    return wrong("expected '" + std::string(word) + "'");
  }
  std::size_t put(Expression::Term term) {
    out_.terms_.push_back(std::move(term));
    return out_.terms_.size() - 1;
  }

  Position whole() {
    if (++depth_ > kMaxDepth) return wrong("nested more than " + std::to_string(kMaxDepth) + " deep");
    LANISTA_ASSIGN(const std::size_t first, either());
    std::size_t result = first;
    if (take("if")) {
      LANISTA_ASSIGN(const std::size_t condition, either());
      LANISTA_TRY(want("else"));
      LANISTA_ASSIGN(const std::size_t otherwise, whole());
      result = put({Kind::kIf, "if", {}, {condition, first, otherwise}});
    }
    --depth_;
    return result;
  }
  Position either() { return joined("or", Kind::kOr, &FormulaParser::both); }
  Position both() { return joined("and", Kind::kAnd, &FormulaParser::negated); }
  Position joined(std::string_view word, Kind kind, Position (FormulaParser::*operand)()) {
    LANISTA_ASSIGN(std::size_t left, (this->*operand)());
    while (take(word)) {
      LANISTA_ASSIGN(const std::size_t right, (this->*operand)());
      left = put({kind, std::string(word), {}, {left, right}});
    }
    return left;
  }
  Position negated() {
    if (!take("not")) return compared();
    return prefixed(Kind::kNot, &FormulaParser::negated);
  }
  Position prefixed(Kind kind, Position (FormulaParser::*operand)()) {
    if (++depth_ > kMaxDepth) return wrong("nested more than " + std::to_string(kMaxDepth) + " deep");
    LANISTA_ASSIGN(const std::size_t inner, (this->*operand)());
    --depth_;
    return put({kind, "", {}, {inner}});
  }
  Position compared() {
    LANISTA_ASSIGN(const std::size_t left, sum());
    const std::string word = next_word();
    constexpr std::array<std::string_view, 6> kComparisons{"==", "!=", "<=", ">=", "<", ">"};
    if (std::ranges::find(kComparisons, word) == kComparisons.end()) return left;
    at_ += word.size();
    LANISTA_ASSIGN(const std::size_t right, sum());
    return put({Kind::kBinary, word, {}, {left, right}});
  }
  Position sum() { return chained({"+", "-"}, &FormulaParser::product); }
  Position product() { return chained({"*", "/", "//", "%"}, &FormulaParser::signed_power); }
  Position chained(const std::vector<std::string>& words, Position (FormulaParser::*operand)()) {
    LANISTA_ASSIGN(std::size_t left, (this->*operand)());
    for (std::string word = next_word(); std::ranges::find(words, word) != words.end(); word = next_word()) {
      at_ += word.size();
      LANISTA_ASSIGN(const std::size_t right, (this->*operand)());
      left = put({Kind::kBinary, word, {}, {left, right}});
    }
    return left;
  }
  Position signed_power() {
    if (take("-")) return prefixed(Kind::kMinus, &FormulaParser::signed_power);
    LANISTA_ASSIGN(const std::size_t base, atom());
    if (!take("**")) return base;
    if (++depth_ > kMaxDepth) return wrong("nested more than " + std::to_string(kMaxDepth) + " deep");
    LANISTA_ASSIGN(const std::size_t power, signed_power());
    --depth_;
    return put({Kind::kBinary, "**", {}, {base, power}});
  }
  Position atom() {
    const std::string word = next_word();
    if (word.empty()) return wrong("the formula ends too early");
    if (take("(")) {
      LANISTA_ASSIGN(const std::size_t inner, whole());
      LANISTA_TRY(want(")"));
      return inner;
    }
    if (word == "'" || word == "\"") return text_value(word[0]);
    if (is_digit(word[0]) || word == ".") return number();
    if (!is_letter(word[0])) return wrong("expected a number, a name or '(', found '" + word + "'");
    constexpr std::array<std::string_view, 5> kReserved{"if", "else", "and", "or", "not"};
    if (std::ranges::find(kReserved, word) != kReserved.end()) return wrong("'" + word + "' does not belong here");
    at_ += word.size();
    if (word == "true" || word == "false") return put({Kind::kValue, "", word == "true"});
    if (next_word() == "(") return call(word);
    if (std::ranges::find(out_.names_, word) == out_.names_.end()) out_.names_.push_back(word);
    return put({Kind::kName, word, {}});
  }
  Position call(const std::string& function) {
    constexpr std::array<std::string_view, 5> kFunctions{"min", "max", "round", "floor", "ceil"};
    if (std::ranges::find(kFunctions, function) == kFunctions.end()) {
      return wrong("'" + function + "' is no function; there are min, max, round, floor, ceil");
    }
    LANISTA_TRY(want("("));
    std::vector<std::size_t> arguments;
    do {
      LANISTA_ASSIGN(arguments.emplace_back(), whole());
    } while (take(","));
    LANISTA_TRY(want(")"));
    const bool is_extreme = function == "min" || function == "max";
    if (!is_extreme && arguments.size() != 1) return wrong(function + " takes one number");
    return put({Kind::kCall, function, {}, std::move(arguments)});
  }
  Position text_value(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return wrong("a text that does not end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return put({Kind::kValue, "", std::move(value)});
  }
  Position number() {
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    std::int64_t integer = 0;
    double real = 0;
    const auto whole = std::from_chars(begin, end, integer);
    const auto parsed = std::from_chars(begin, end, real);
    if (parsed.ec != std::errc() || !std::isfinite(real)) return wrong("expected a number");
    at_ += static_cast<std::size_t>(parsed.ptr - begin);
    if (at_ < text_.size() && is_letter(text_[at_])) return wrong("a name cannot begin with a digit");
    const bool is_whole = whole.ec == std::errc() && whole.ptr == parsed.ptr;
    return put({Kind::kValue, "", is_whole ? space::Value(integer) : space::Value(real)});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Expression out_;
};

Result<Expression> Expression::parse(std::string_view text) { return FormulaParser(text).run(); }

}  // namespace lanista::mutate
