#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"

namespace lanista::study {

/// Returns true if `name` is a metric, which is measured in training (val_…, train_…). Values of other names are known
/// before training.
bool is_metric(std::string_view name);

/// A constraint: an inequality between two expressions, such as "params <= 50k" or "lr * 10 >= weight_decay".
///
/// Names are metrics, hyper-parameters, `params` (trained parameters of the model) and `flops` (forward FLOPs of a
/// sample). Numbers may end in k, M or G. Operators are + - * / and parentheses.
class Constraint {
 public:
  /// Reads a constraint from text. The comparison is `<=` or `>=`. Errors: kInvalidArgument (no valid constraint, one
  /// without a name, or longer than 1,000 characters; the message has the position). Names are not checked.
  static Result<Constraint> parse(std::string_view text);

  /// Returns the text that was read.
  const std::string& text() const { return text_; }
  /// Returns the names in the constraint, each once, in the order of the text.
  const std::vector<std::string>& names() const { return names_; }

  /// Returns true if the constraint needs a metric. Other constraints are checked before training: a trial that
  /// violates one is never proposed.
  bool is_measured() const;

  /// Returns the value of a name, or nullopt if it has none.
  using Lookup = std::function<std::optional<double>(const std::string& name)>;
  /// Returns the violation: the excess divided by the larger magnitude of the two sides, so violations of several
  /// constraints may be added. 0: satisfied. Infinite: a side is NaN. nullopt: a name has no value.
  std::optional<double> violation(const Lookup& value_of) const;
  /// Returns the side that must be smaller minus the other side, in the unit of the constraint. At most 0: satisfied;
  /// infinite: a side is NaN. nullopt: a name has no value.
  std::optional<double> excess(const Lookup& value_of) const;

  /// Returns why a side is NaN or infinite, as text for people: "it divides by 0", "val_loss is NaN", "a side of it is
  /// infinite". nullopt: both sides are finite, or a name has no value.
  std::optional<std::string> undefined_reason(const Lookup& value_of) const;
  /// Returns true if a divisor is a number, or an expression of numbers, that is 0.
  bool divides_by_zero() const;

  /// Returns the number N if the constraint has the form `name <= N` or `N >= name` for this name; nullopt otherwise.
  std::optional<double> upper_bound(std::string_view name) const;

 private:
  friend class ConstraintParser;
  /// One instruction of a stack machine.
  struct Step {
    char what = '#';  ///< '#': a number, 'x': a name, '~': change of sign, else an operator.
    double number = 0;
    std::size_t name = 0;  ///< Index into names_.
  };
  std::string text_;
  std::vector<std::string> names_;
  std::optional<std::pair<double, double>> sides(const Lookup& value_of) const;
  static bool has_zero_divisor(const std::vector<Step>& steps, const std::vector<std::optional<double>>& values);
  std::vector<Step> smaller_, larger_;  ///< The two sides; `smaller_` must not exceed `larger_`.
};

/// Returns the hyper-parameter `name` as a number; true is 1, false is 0. nullopt: the sample does not have it, or it
/// is a text.
std::optional<double> number_in(const space::Sample& sample, const std::string& name);

}  // namespace lanista::study
