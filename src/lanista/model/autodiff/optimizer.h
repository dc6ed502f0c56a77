#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/graph/op.h"

namespace lanista::step {

/// The definition of an optimiser, without its kernel. It has the same name in kernels/family/update.inc.h.
struct Optimizer {
  /// A setting of a recipe that an optimiser reads, such as "beta1". The schema of study files has its bounds.
  struct Number {
    std::string name;  ///< key of the recipe
    double usual = 0;  ///< default
  };

  std::string name;                ///< Name in studies and recipes, such as "adamw".
  std::string help;                ///< One sentence about the update rule.
  std::vector<std::string> slots;  ///< State tensors for each parameter, in the order of its kernel: "m", "v".
  std::vector<Number> numbers;     ///< Settings that it reads besides `lr` and `weight_decay`.
  bool decoupled = false;          ///< Weight decay acts on the parameter itself, not on its gradient.

  /// The operator "<name>_update" of the commit section. Its inputs are parameters, gradients, then slots.
  graph::OpDef rule() const;
  /// Whether the optimiser reads this setting.
  bool reads(std::string_view number) const;
};

/// All optimisers. The first is the default.
const std::vector<Optimizer>& optimizers();
/// The optimiser with this name, or null.
const Optimizer* find_optimizer(std::string_view name);
/// The names of all optimisers, in the order of optimizers().
std::vector<std::string> optimizer_names();
/// The optimisers that read a setting, as text for messages, such as "adam and adamw".
std::string optimizers_reading(std::string_view number);
/// The optimisers with decoupled weight decay, as text for messages.
std::string decoupled_optimizer_names();
/// The default of a setting for an optimiser.
///
/// If the optimiser does not read the setting, this is the default of the first optimiser that does. No value if none
/// does.
std::optional<double> default_number(std::string_view optimizer, std::string_view number);

}  // namespace lanista::step
