#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/graph/op.h"

namespace lanista::step {

/// An optimiser: everything the system knows about it beside its kernel (kernels/family/update.inc.h, by the same
/// name).
struct Optimizer {
  /// A number of recipes, with what it is where nobody says so; the bounds of study files hold for every optimiser.
  struct Number {
    std::string name;
    double usual = 0;
  };

  std::string name;                ///< as studies and recipes write it: "adamw"
  std::string help;                ///< one sentence, for the operator of the commit section
  std::vector<std::string> slots;  ///< what it keeps for every parameter, in the order of its kernel: "m", "v"
  std::vector<Number> numbers;     ///< that it reads beside `lr` and `weight_decay`
  bool decoupled = false;          ///< weight decay acts on the parameter itself, not on its gradient

  /// Its rule as an operator of the commit section, "<name>_update": parameters, gradients, then the slots.
  graph::OpDef rule() const;
  bool reads(std::string_view number) const;
};

/// All optimisers, the default first.
const std::vector<Optimizer>& optimizers();
/// Null if there is none of that name.
const Optimizer* find_optimizer(std::string_view name);
std::vector<std::string> optimizer_names();
/// Those that a number of recipes has an effect on, or whose weight decay is decoupled, as people list them: "adam and
/// adamw".
std::string optimizers_reading(std::string_view number);
std::string decoupled_optimizer_names();
/// What a number of a recipe is where nobody says so: what the optimiser has, or where it reads no such number, the
/// first that does. Nothing if none does.
std::optional<double> default_number(std::string_view optimizer, std::string_view number);

}  // namespace lanista::step
