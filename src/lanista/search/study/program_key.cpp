#include "lanista/search/study/program_key.h"

#include <algorithm>
#include <string>

#include "lanista/model/autodiff/optimizer.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::study {

namespace {

bool is_lane_number(const graph::OpDef* def, const std::string& attr) {
  return def != nullptr && std::ranges::any_of(def->attrs, [&](const graph::AttrSpec& spec) {
           return spec.per_lane && spec.name == attr;
         });
}

}  // namespace

Digest structure_key(const graph::Graph& model, const graph::OpTable& ops) {
  Hasher hasher;
  for (const auto& node : model.nodes()) {
    hasher.number(static_cast<std::int64_t>(node->id.value)).text(node->op);
    const graph::OpDef* def = ops.find(node->op);
    for (const auto& [name, value] : node->attrs) {
      if (!is_lane_number(def, name)) hasher.text(name).text(graph::attr_text(value));
    }
    hasher.text("").number(static_cast<std::int64_t>(node->inputs.size()));
    for (const graph::Port& port : node->inputs)
      hasher.number(static_cast<std::int64_t>(port.node.value)).number(port.slot);
  }
  return hasher.finish();
}

Digest program_key(const Digest& structure, const Recipe& recipe) {
  Hasher hasher;
  hasher.digest(structure).text(recipe.loss).text(recipe.optimizer).text(recipe.precision).number(recipe.batch);
  hasher.number(recipe.shards).number(recipe.accumulate);
  const std::int64_t most = largest_batch(recipe);
  return most == recipe.batch ? hasher.finish() : hasher.number(most).finish();
}

std::int64_t state_bytes(std::int64_t parameters, const Recipe& recipe) {
  const autodiff::Optimizer* optimizer = autodiff::find_optimizer(recipe.optimizer);
  const auto slots = optimizer == nullptr ? 0 : static_cast<std::int64_t>(optimizer->slots.size());
  return parameters * (1 + slots) * (recipe.precision == "float64" ? 8 : 4);
}

std::int64_t best_weights_bytes(std::int64_t parameters, const Recipe& recipe, const SelectionRule& rule) {
  return rule.selects_best() ? parameters * (recipe.precision == "float64" ? 8 : 4) : 0;
}

}  // namespace lanista::study
