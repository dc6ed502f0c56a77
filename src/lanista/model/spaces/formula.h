#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"

namespace lanista::mutate {

/// A parsed formula over named values, such as "2 * width if wide else 16". `Formula` in blueprint.h defines the
/// syntax.
class Expression {
 public:
  /// Parses a formula of at most 4096 characters. Errors: kInvalidArgument with the column and what is expected there.
  static Result<Expression> parse(std::string_view text);

  /// The names in the formula, in the order of the text, each once. Functions and true and false are not among them.
  const std::vector<std::string>& names() const { return names_; }
  /// The text from which the formula was parsed.
  const std::string& text() const { return text_; }

  /// A function that returns the value of a name, or an error for an unknown name.
  using Lookup = std::function<Result<space::Value>(const std::string& name)>;
  /// Returns the value of the formula. Names in branches that are not selected are not looked up, nor those after an
  /// `and` or `or` that is decided. Errors: those that `lookup` returns; kNotApplicable for operand types that do not
  /// fit, division by zero, a result that is not finite, or an integer beyond 64 bits.
  Result<space::Value> evaluate(const Lookup& lookup) const;

 private:
  friend class FormulaParser;
  enum class Kind { kValue, kName, kIf, kOr, kAnd, kNot, kMinus, kBinary, kCall };
  struct Term {
    Kind kind = Kind::kValue;
    std::string word;                  ///< name, operator or function
    space::Value value;                ///< of kValue
    std::vector<std::size_t> parts{};  ///< operands; of kIf: condition, then, otherwise
  };
  Result<space::Value> term(std::size_t index, const Lookup& lookup) const;

  std::string text_;
  std::vector<Term> terms_;  ///< the last one is the whole
  std::vector<std::string> names_;
};

}  // namespace lanista::mutate
