#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/graph/op.h"

namespace lanista::autodiff {

/// The definition of an optimiser, without its kernel, which has the same name in kernels/family/update.inc.h.
struct Optimizer {
  /// A setting of a recipe that an optimiser reads, such as "beta1". Its range is in the schema of study files.
  struct Number {
    std::string name;  ///< key of the recipe
    double usual = 0;  ///< default value
  };

  std::string name;                ///< Name in studies and recipes, for example "sgd".
  std::string help;                ///< One sentence for users about the update rule.
  std::vector<std::string> slots;  ///< Names of the state tensors of each parameter, in kernel order: "m", "v".
  std::vector<Number> numbers;     ///< Settings that it reads in addition to `lr` and `weight_decay`.
  bool decoupled = false;          ///< True: weight decay acts on the parameter; false: on its gradient.
  bool corrects_rate = false;      ///< True: the learning rate of step i is divided by 1 - beta1^i.

  /// Returns the definition of the operator "<name>_update" of the commit section. It has no outputs and reads all
  /// parameters, then all gradients, then for each slot in turn the tensors of all parameters.
  graph::OpDef rule() const;
  /// True if `numbers` has this setting. False for `lr` and `weight_decay`, which every optimiser reads.
  bool reads(std::string_view number) const;
  /// True if the gradient is divided by the root of its second moment, the slot "v".
  bool divides() const;
};

/// All optimisers. The first is the default. The list lives as long as the program.
const std::vector<Optimizer>& optimizers();
/// The optimiser with this name, or null. The pointer is valid as long as the program runs.
const Optimizer* find_optimizer(std::string_view name);
/// The names of all optimisers, in the order of optimizers().
std::vector<std::string> optimizer_names();
/// The names of the optimisers that read a setting, as text for messages, with "and" before the last. Empty if none
/// does.
std::string optimizers_reading(std::string_view number);
/// The names of the optimisers with decoupled weight decay, as text for messages.
std::string decoupled_optimizer_names();
/// The names of the optimisers that do not divide by a second moment, as text for messages.
std::string undivided_optimizer_names();
/// The default value of a setting for an optimiser.
///
/// If the optimiser does not read the setting or is unknown, this is the default of the first optimiser that reads it.
/// No value if no optimiser reads it.
std::optional<double> default_number(std::string_view optimizer, std::string_view number);

}  // namespace lanista::autodiff
