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

/// Whether a name is that of something measured in training; all others are known before.
bool is_metric(std::string_view name);

/// What a trial must keep to, as an inequality between two expressions: "params <= 50k", "val_loss <= 1",
/// "lr * 10 >= weight_decay". Names are metrics, hyper-parameters, `params` (trained parameters of the model) and
/// `flops` (forward FLOPs a sample). Numbers may end in k, M or G; there are + - * / and parentheses.
class Constraint {
 public:
  /// Errors: kInvalidArgument with what is wrong and where.
  static Result<Constraint> parse(std::string_view text);

  const std::string& text() const { return text_; }
  const std::vector<std::string>& names() const { return names_; }  ///< each once, in the order of the text

  /// Whether it needs a metric. The others are known before training, and a trial that breaks them
  /// is never proposed.
  bool is_measured() const;

  using Lookup = std::function<std::optional<double>(const std::string& name)>;
  /// By how much it is broken, relative to the larger side, so that violations of different constraints may be added;
  /// 0: it holds. Infinite for a NaN on either side. nullopt: a name has no value.
  std::optional<double> violation(const Lookup& value_of) const;
  /// By how much the side that must not be larger is so, in its own unit and smooth where the constraint is: negative
  /// where there is room, infinite for a NaN on either side. Above 0 where there is a violation. nullopt: a name has no
  /// value.
  std::optional<double> excess(const Lookup& value_of) const;

  /// Of constraints of the form `name <= number`: the number.
  std::optional<double> upper_bound(std::string_view name) const;

 private:
  friend class ConstraintParser;
  /// One step of a stack machine.
  struct Step {
    char what = '#';  ///< '#': a number, 'x': a name, else the operator; '~' changes the sign
    double number = 0;
    std::size_t name = 0;
  };
  std::string text_;
  std::vector<std::string> names_;
  std::optional<std::pair<double, double>> sides(const Lookup& value_of) const;
  std::vector<Step> smaller_, larger_;  ///< the sides; `smaller_` must not exceed `larger_`
};

/// A hyper-parameter as a number; true is 1. nullopt: the sample does not have it, or it is a text.
std::optional<double> number_in(const space::Sample& sample, const std::string& name);

}  // namespace lanista::study
