// The optimisers. To add one, add an entry here and kernels of its name in kernels/family/update.inc.h,
// backends/update_rules.inc.h and backends/aten/aten_update.cpp below exec.
#include <algorithm>
#include <functional>
#include <utility>

#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

std::vector<Optimizer> make_optimizers() {
  return {
      {.name = "sgd",
       .help = "Gradient descent with momentum, or Nesterov's.",
       .slots = {"momentum"},
       .numbers = {{"momentum", 0.9}, {"nesterov", 0}}},
      {.name = "adam",
       .help = "Adam (Kingma and Ba 2015): two moments of the gradient.",
       .slots = {"m", "v"},
       .numbers = {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       .corrects_rate = true},
      {.name = "adamw",
       .help = "Adam with decoupled weight decay (Loshchilov and Hutter 2019).",
       .slots = {"m", "v"},
       .numbers = {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       .decoupled = true,
       .corrects_rate = true},
      {.name = "lion",
       .help = "The sign of an interpolated momentum, with decoupled weight decay (Chen et al. 2023).",
       .slots = {"m"},
       .numbers = {{"beta1", 0.9}, {"beta2", 0.99}},
       .decoupled = true},
      {.name = "rmsprop",
       .help = "The gradient by the root of its mean square (Tieleman and Hinton 2012), with momentum if asked for.",
       .slots = {"v", "momentum"},
       .numbers = {{"momentum", 0}, {"beta2", 0.99}, {"eps", 1e-8}}}};
}

// The inputs are `parts` runs of n tensors: parameters, gradients, then the slots of the optimiser.
Types infer_update(const OpArgs& args, std::size_t parts) {
  if (args.inputs.size() % parts != 0) {
    return ops::shape_error("needs " + std::to_string(parts) + " tensors for each parameter, but has " +
                            std::to_string(args.inputs.size()) + " inputs");
  }
  const std::size_t n = args.inputs.size() / parts;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (args.inputs[i].shape.has_batch())
      return ops::shape_error("input " + std::to_string(i) + " has a batch dimension");
    LANISTA_TRY(ops::require_type(args, i, args.inputs[i % n], i < 2 * n ? "the gradient" : "the slot"));
  }
  return std::vector<ValueType>{};
}

template <class Which>
std::string listed(Which which) {
  std::vector<std::string> names;
  for (const Optimizer& each : optimizers()) {
    if (std::invoke(which, each)) names.push_back(each.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

}  // namespace

graph::OpDef Optimizer::rule() const {
  const std::size_t parts = 2 + slots.size();
  OpDef def = step_op(name + "_update", "Commit: " + help, static_cast<int>(parts),
                      [parts](const OpArgs& args) { return infer_update(args, parts); });
  def.role = graph::OpRole::kCommit;
  def.max_inputs = -1;
  return def;
}

bool Optimizer::reads(std::string_view number) const {
  return std::ranges::any_of(numbers, [&](const Number& each) { return each.name == number; });
}

bool Optimizer::divides() const { return std::ranges::find(slots, "v") != slots.end(); }

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> kAll = make_optimizers();
  return kAll;
}

const Optimizer* find_optimizer(std::string_view name) {
  const auto found = std::ranges::find(optimizers(), name, &Optimizer::name);
  return found == optimizers().end() ? nullptr : &*found;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Optimizer& each : optimizers()) names.push_back(each.name);
  return names;
}

std::string optimizers_reading(std::string_view number) {
  return listed([&](const Optimizer& each) { return each.reads(number); });
}

std::string decoupled_optimizer_names() { return listed(&Optimizer::decoupled); }

std::string undivided_optimizer_names() { return listed(std::not_fn(&Optimizer::divides)); }

std::optional<double> default_number(std::string_view optimizer, std::string_view number) {
  const auto of = [&](const Optimizer& each) -> std::optional<double> {
    const auto found = std::ranges::find(each.numbers, number, &Optimizer::Number::name);
    return found == each.numbers.end() ? std::nullopt : std::optional(found->usual);
  };
  const Optimizer* own = find_optimizer(optimizer);
  if (const auto usual = own != nullptr ? of(*own) : std::nullopt) return usual;
  for (const Optimizer& each : optimizers()) {
    if (const auto usual = of(each)) return usual;
  }
  return std::nullopt;
}

}  // namespace lanista::autodiff
