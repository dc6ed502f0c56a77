#include <algorithm>
#include <array>

#include "lanista/base/expression_reader.h"
#include "lanista/model/spaces/formula.h"

namespace lanista::mutate {

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxLength = 4096;

constexpr OperatorLevel kLevels[] = {
    {.between = {"or"}},     {.between = {"and"}},
    {.before = "not"},       {.between = {"==", "!=", "<=", ">=", "<", ">"}, .chains = false},
    {.between = {"+", "-"}}, {.between = {"*", "/", "//", "%"}},
    {.before = "-"},
};
constexpr std::size_t kSignLevel = std::size(kLevels) - 1;

}  // namespace

/// Reads a formula. The value of a part is the index of its term.
class FormulaParser final : public ExpressionReader<std::size_t> {
 public:
  explicit FormulaParser(std::string_view text)
      : ExpressionReader(text, kLevels, kMaxDepth, "nested more than " + std::to_string(kMaxDepth) + " deep") {
    out_.text_ = std::string(text);
  }

  Result<Expression> run() {
    if (text().size() > kMaxLength) return wrong("a formula has at most " + std::to_string(kMaxLength) + " characters");
    LANISTA_TRY(whole());
    if (!next_word().empty()) return unexpected(next_word());
    return std::move(out_);
  }

 private:
  using Kind = Expression::Kind;
  using Position = Result<std::size_t>;

  Error wrong(const std::string& message) const override {
    return {Code::kInvalidArgument,
            "formula \"" + std::string(text().substr(0, kMaxLength)) + "\", column " + std::to_string(position() + 1) +
                ": " + message,
            ""};
  }
  Error unexpected(std::string_view word) const { return wrong("'" + std::string(word) + "' does not belong here"); }

  /// Returns the next word: a name, the first digit of a number, or an operator; empty at the end.
  std::string_view next_word() {
    if (const std::string_view name = peek_name(); !name.empty()) return name;
    for (const std::string_view two : {"**", "//", "==", "!=", "<=", ">="}) {
      if (rest().starts_with(two)) return two;
    }
    return rest().substr(0, 1);
  }
  bool take(std::string_view word) override {
    if (next_word() != word) return false;
    advance(word.size());
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
    LANISTA_TRY(enter());
    LANISTA_ASSIGN(std::size_t result, expression());
    if (take("if")) {
      LANISTA_ASSIGN(const std::size_t condition, expression());
      LANISTA_TRY(want("else"));
      LANISTA_ASSIGN(const std::size_t otherwise, whole());
      result = put({Kind::kIf, "if", {}, {condition, result, otherwise}});
    }
    leave();
    return result;
  }
  std::size_t join(std::string_view word, std::vector<std::size_t> parts) override {
    if (parts.size() == 1) return put({word == "-" ? Kind::kMinus : Kind::kNot, "", {}, std::move(parts)});
    const Kind kind = word == "or" ? Kind::kOr : word == "and" ? Kind::kAnd : Kind::kBinary;
    return put({kind, std::string(word), {}, std::move(parts)});
  }
  Position operand() override {
    LANISTA_ASSIGN(const std::size_t base, atom());
    if (!take("**")) return base;
    LANISTA_ASSIGN(const std::size_t power, nested(kSignLevel));
    return join("**", {base, power});
  }
  Position atom() {
    const std::string word(next_word());
    if (word.empty()) return wrong("the formula ends too early");
    if (take("(")) {
      LANISTA_ASSIGN(const std::size_t inner, whole());
      LANISTA_TRY(want(")"));
      return inner;
    }
    if (word == "'" || word == "\"") return text_value();
    if (is_digit(word[0]) || word == ".") return number_value();
    if (!is_letter(word[0])) return wrong("expected a number, a name or '(', found '" + word + "'");
    constexpr std::array<std::string_view, 5> kReserved{"if", "else", "and", "or", "not"};
    if (std::ranges::find(kReserved, word) != kReserved.end()) return unexpected(word);
    advance(word.size());
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
  Position text_value() {
    const auto value = quoted();
    if (!value) return wrong("a text that does not end");
    return put({Kind::kValue, "", std::string(*value)});
  }
  Position number_value() {
    const std::size_t begin = position();
    const auto integer = number<std::int64_t>();
    const std::size_t behind = position();
    move_to(begin);
    const auto real = number<double>();
    if (!real) return wrong("expected a number");
    if (is_letter(peek())) return wrong("a name cannot begin with a digit");
    const bool is_whole = integer && behind == position();
    return put({Kind::kValue, "", is_whole ? space::Value(*integer) : space::Value(*real)});
  }

  Expression out_;
};

Result<Expression> Expression::parse(std::string_view text) { return FormulaParser(text).run(); }

}  // namespace lanista::mutate
