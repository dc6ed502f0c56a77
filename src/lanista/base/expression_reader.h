#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/text_cursor.h"

namespace lanista {

/// The operators of one precedence.
struct OperatorLevel {
  std::array<std::string_view, 6> between{};  ///< operators between two operands; unused elements are empty
  bool chains = true;                         ///< false: one operator at most, as in a comparison
  std::string_view before{};                  ///< an operator before an operand; empty: none
};

/// Reads an expression by the precedence of its operators, and joins operands of one precedence from left to right.
/// `Value` represents a part of the expression.
template <class Value>
class ExpressionReader : public TextCursor {
 public:
  /// `levels` begins with the operators that bind least, and must live as long as the reader. `too_deep` is the message
  /// for more than `max_depth` parts in each other.
  ExpressionReader(std::string_view text, std::span<const OperatorLevel> levels, std::size_t max_depth,
                   std::string too_deep)
      : TextCursor(text), levels_(levels), max_depth_(max_depth), too_deep_(std::move(too_deep)) {}
  virtual ~ExpressionReader() = default;

 protected:
  /// Reads an expression of the operators from `level` on.
  Result<Value> expression(std::size_t level = 0) {
    if (level == levels_.size()) return operand();
    const OperatorLevel& own = levels_[level];
    if (!own.before.empty() && take(own.before)) {
      LANISTA_ASSIGN(Value inner, nested(level));
      return join(own.before, {std::move(inner)});
    }
    LANISTA_ASSIGN(Value left, expression(level + 1));
    for (;;) {
      const auto word =
          std::ranges::find_if(own.between, [&](std::string_view each) { return !each.empty() && take(each); });
      if (word == own.between.end()) return left;
      LANISTA_ASSIGN(Value right, expression(level + 1));
      left = join(*word, {std::move(left), std::move(right)});
      if (!own.chains) return left;
    }
  }
  /// The same, one level deeper.
  Result<Value> nested(std::size_t level = 0) {
    LANISTA_TRY(enter());
    LANISTA_ASSIGN(Value value, expression(level));
    leave();
    return value;
  }
  /// Begins a part that is one level deeper. Errors: too many levels.
  Result<void> enter() {
    if (++depth_ > max_depth_) return wrong(too_deep_);
    return {};
  }
  /// Ends the part of the last enter().
  void leave() { --depth_; }

 private:
  /// Skips the operator `word` if it is next. True if it is.
  virtual bool take(std::string_view word) { return accept(word); }
  /// Reads what no operator of the levels joins.
  virtual Result<Value> operand() = 0;
  /// The value of an operator with its one or two operands.
  virtual Value join(std::string_view word, std::vector<Value> operands) = 0;
  /// The error with this message at the current position.
  virtual Error wrong(const std::string& message) const = 0;

  std::span<const OperatorLevel> levels_;
  std::size_t max_depth_, depth_ = 0;
  std::string too_deep_;
};

}  // namespace lanista
