// A recipe as JSON, and back.
#include <limits>
#include <map>
#include <utility>

#include "lanista/search/study/config.h"
#include "lanista/search/study/record_table.h"

namespace lanista::study {

namespace {

using namespace fields;

nlohmann::json plugin_json(const PluginConfig& plugin) { return {{plugin.name, plugin.options}}; }
auto plugin_reader(const char* what) {
  return [what](const nlohmann::json& in) {
    if (in.is_object() && in.size() == 1) return PluginConfig{in.begin().key(), in.begin().value()};
    throw Malformed{"'" + std::string(what) + "' must be one name with its options"};
  };
}

/// Returns the nodes by factor: [[0.1, 3, 4], ...], with rising factors.
nlohmann::json rates_json(const std::map<graph::NodeId, double>& rates) {
  std::map<double, nlohmann::json> groups;
  for (const auto& [node, factor] : rates) {
    nlohmann::json& group = groups.try_emplace(factor, nlohmann::json::array({factor})).first->second;
    group.push_back(node.value);
  }
  auto out = nlohmann::json::array();
  for (auto& [factor, group] : groups) out.push_back(std::move(group));
  return out;
}
std::map<graph::NodeId, double> rates_of(const nlohmann::json& in) {
  if (!in.is_array()) throw Malformed{"'rates' is not a list"};
  std::map<graph::NodeId, double> rates;
  for (const nlohmann::json& group : in) {
    if (!group.is_array() || group.empty() || !group[0].is_number()) {
      throw Malformed{"'rates' must be a list of groups [FACTOR, NODE, ...]"};
    }
    for (std::size_t i = 1; i < group.size(); ++i) {
      if (!group[i].is_number_unsigned() || group[i] > std::numeric_limits<std::uint32_t>::max()) {
        throw Malformed{"a node of 'rates' must be a whole number from 0"};
      }
      rates[graph::NodeId{group[i].get<std::uint32_t>()}] = group[0].get<double>();
    }
  }
  return rates;
}

void table(FieldTable& t, Recipe& recipe) {
  t("loss", recipe.loss)("optimizer", recipe.optimizer)("schedule", recipe.schedule)("precision", recipe.precision);
  t("batch", recipe.batch)("epochs", recipe.epochs)("step_every", recipe.step_every);
  t("step_factor", recipe.step_factor)("warmup_epochs", recipe.warmup_epochs)("clip_norm", recipe.clip_norm);
  t("label_smoothing", recipe.label_smoothing)("lr", recipe.lr)("momentum", recipe.momentum);
  t("weight_decay", recipe.weight_decay)("beta1", recipe.beta1)("beta2", recipe.beta2)("eps", recipe.eps);
  t("nesterov", recipe.nesterov);
  // Defaults are left out, as in recipes of versions without these fields.
  t.optional("shards", recipe.shards, 1).optional("accumulate", recipe.accumulate, 1);
  t.optional("steps_per_epoch", recipe.steps_per_epoch)
      .optional("steps", recipe.steps)
      .optional("ease", recipe.ease, 1);
  t.optional("recalibrate", recipe.recalibrate).optional("all_rows_at", recipe.all_rows_at, 1);
  if (t.has("select", !recipe.select.name.empty())) {
    t.via("select", recipe.select, plugin_json, plugin_reader("select"));
  }
  if (t.has("tune", !recipe.tune.name.empty())) t.via("tune", recipe.tune, plugin_json, plugin_reader("tune"));
  if (t.has("rates", !recipe.rates.empty())) t.via("rates", recipe.rates, rates_json, rates_of);
  if (t.has("augment", !recipe.augment.empty())) {
    t.list("augment", recipe.augment, plugin_json, plugin_reader("augment"));
  }
}

}  // namespace

nlohmann::json recipe_json(const Recipe& recipe) { return write_table(recipe, table); }
Result<Recipe> recipe_from_json(const nlohmann::json& in) { return read_table<Recipe>("recipe", in, table); }

}  // namespace lanista::study
