#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"

namespace lanista::mutate {

/// A formula over named values ("2 * width if wide else 16"), read once and evaluated often. Blueprints say which
/// names there are and Formula (blueprint.h) how one is written.
class Expression {
 public:
  /// Errors: kInvalidArgument with the column and what was expected.
  static Result<Expression> parse(std::string_view text);

  /// The names it reads, in order of first use.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

  using Lookup = std::function<Result<space::Value>(const std::string& name)>;
  /// Branches that are not taken are not looked up. Errors: lookup's; kNotApplicable (kinds that do not go together,
  /// division by zero, a whole number beyond 64 bits).
  Result<space::Value> evaluate(const Lookup& lookup) const;

 private:
  friend class FormulaParser;
  enum class Kind { kValue, kName, kIf, kOr, kAnd, kNot, kMinus, kBinary, kCall };
  struct Term {
    Kind kind = Kind::kValue;
    std::string word;                  ///< name, operator or function
    space::Value value;                ///< of kValue
    std::vector<std::size_t> parts{};  ///< terms it is made of; of kIf: condition, then, otherwise
  };
  Result<space::Value> term(std::size_t index, const Lookup& lookup) const;

  std::string text_;
  std::vector<Term> terms_;  ///< the last one is the whole
  std::vector<std::string> names_;
};

}  // namespace lanista::mutate
