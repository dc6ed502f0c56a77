// A recipe as JSON, and back.
#include <limits>
#include <map>
#include <utility>

#include "lanista/search/study/config.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study {

using fields::array;
using fields::flag;
using fields::integer;
using fields::Malformed;
using fields::member;
using fields::read_record;
using fields::real;
using fields::text;

namespace {

nlohmann::json plugin_json(const PluginConfig& plugin) { return {{plugin.name, plugin.options}}; }
PluginConfig plugin_of(const nlohmann::json& in, const char* what) {
  if (!in.is_object() || in.size() != 1)
    throw Malformed{"'" + std::string(what) + "' must be one name with its options"};
  return {in.begin().key(), in.begin().value()};
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

}  // namespace

nlohmann::json recipe_json(const Recipe& recipe) {
  nlohmann::json out = {{"loss", recipe.loss},
                        {"optimizer", recipe.optimizer},
                        {"schedule", recipe.schedule},
                        {"precision", recipe.precision},
                        {"epochs", recipe.epochs},
                        {"batch", recipe.batch},
                        {"step_every", recipe.step_every},
                        {"step_factor", recipe.step_factor},
                        {"warmup_epochs", recipe.warmup_epochs},
                        {"clip_norm", recipe.clip_norm},
                        {"label_smoothing", recipe.label_smoothing},
                        {"lr", recipe.lr},
                        {"momentum", recipe.momentum},
                        {"weight_decay", recipe.weight_decay},
                        {"beta1", recipe.beta1},
                        {"beta2", recipe.beta2},
                        {"eps", recipe.eps},
                        {"nesterov", recipe.nesterov}};
  // Defaults are left out, as in recipes of versions without these fields.
  if (recipe.shards != 1) out["shards"] = recipe.shards;
  if (recipe.accumulate != 1) out["accumulate"] = recipe.accumulate;
  if (recipe.steps_per_epoch != 0) out["steps_per_epoch"] = recipe.steps_per_epoch;
  if (recipe.steps != 0) out["steps"] = recipe.steps;
  if (recipe.ease != 1) out["ease"] = recipe.ease;
  if (recipe.recalibrate != 0) out["recalibrate"] = recipe.recalibrate;
  if (recipe.all_rows_at != 1) out["all_rows_at"] = recipe.all_rows_at;
  if (!recipe.select.name.empty()) out["select"] = plugin_json(recipe.select);
  if (!recipe.tune.name.empty()) out["tune"] = plugin_json(recipe.tune);
  if (!recipe.rates.empty()) out["rates"] = rates_json(recipe.rates);
  for (const PluginConfig& plugin : recipe.augment) out["augment"].push_back(plugin_json(plugin));
  return out;
}

Result<Recipe> recipe_from_json(const nlohmann::json& in) {
  return read_record<Recipe>("recipe", [&] {
    Recipe recipe;
    for (const auto& [name, field] :
         {std::pair("loss", &Recipe::loss), std::pair("optimizer", &Recipe::optimizer),
          std::pair("schedule", &Recipe::schedule), std::pair("precision", &Recipe::precision)}) {
      recipe.*field = text(in, name);
    }
    recipe.batch = integer(in, "batch");
    for (const auto& [name, field] :
         {std::pair("epochs", &Recipe::epochs), std::pair("step_every", &Recipe::step_every)}) {
      recipe.*field = integer(in, name);
    }
    for (const auto& [name, field] :
         {std::pair("step_factor", &Recipe::step_factor), std::pair("warmup_epochs", &Recipe::warmup_epochs)}) {
      recipe.*field = real(in, name);
    }
    for (const auto& [name, field] :
         {std::pair("clip_norm", &StepSettings::clip_norm),
          std::pair("label_smoothing", &StepSettings::label_smoothing), std::pair("lr", &StepSettings::lr),
          std::pair("momentum", &StepSettings::momentum), std::pair("weight_decay", &StepSettings::weight_decay),
          std::pair("beta1", &StepSettings::beta1), std::pair("beta2", &StepSettings::beta2),
          std::pair("eps", &StepSettings::eps)}) {
      recipe.*field = real(in, name);
    }
    recipe.nesterov = flag(in, "nesterov");
    if (in.contains("shards")) recipe.shards = integer(in, "shards");
    if (in.contains("accumulate")) recipe.accumulate = integer(in, "accumulate");
    if (in.contains("steps_per_epoch")) recipe.steps_per_epoch = integer(in, "steps_per_epoch");
    if (in.contains("steps")) recipe.steps = integer(in, "steps");
    if (in.contains("ease")) recipe.ease = real(in, "ease");
    if (in.contains("recalibrate")) recipe.recalibrate = integer(in, "recalibrate");
    if (in.contains("all_rows_at")) recipe.all_rows_at = integer(in, "all_rows_at");
    if (in.contains("select")) recipe.select = plugin_of(in.at("select"), "select");
    if (in.contains("tune")) recipe.tune = plugin_of(in.at("tune"), "tune");
    if (in.contains("rates")) recipe.rates = rates_of(array(in, "rates"));
    if (!in.contains("augment")) return recipe;
    for (const nlohmann::json& plugin : array(in, "augment")) recipe.augment.push_back(plugin_of(plugin, "augment"));
    return recipe;
  });
}

}  // namespace lanista::study
