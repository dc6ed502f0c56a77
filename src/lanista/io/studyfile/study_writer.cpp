#include <algorithm>
#include <sstream>

#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::studyfile {
namespace {

using nlohmann::json;

// JSON is YAML: quoted texts, numbers that round-trip.
std::string yaml(const json& value) { return value.dump(); }

std::string domain_yaml(const space::Domain& domain) {
  const auto* choice = std::get_if<space::Categorical>(&domain);
  if (choice == nullptr) return space::domain_text(domain);
  json list = json::array();
  for (const auto& value : choice->values) list.push_back(space::value_json(value));
  return list.dump();
}

bool is_branch(const space::SearchSpace& space, const std::string& name) {
  for (const auto& parameter : space.parameters()) {
    if (!parameter.when.empty() && parameter.when.front().parameter == name) return true;
  }
  return false;
}

void write_params(std::ostream& out, const space::SearchSpace& space) {
  if (space.parameters().empty()) return;
  out << "  params:\n";
  for (const auto& parameter : space.parameters()) {
    if (!parameter.when.empty()) continue;
    if (!is_branch(space, parameter.name)) {
      out << "    " << parameter.name << ": " << domain_yaml(parameter.domain) << "\n";
      continue;
    }
    out << "    " << parameter.name << ":\n";
    for (const auto& value : std::get<space::Categorical>(parameter.domain).values) {
      out << "      " << space::value_text(value) << ":\n";
      for (const auto& inner : space.parameters()) {
        const space::Parameter::Condition condition{parameter.name, {value}};
        if (std::ranges::find(inner.when, condition) == inner.when.end()) continue;
        out << "        " << inner.name << ": " << domain_yaml(inner.domain) << "\n";
      }
    }
  }
}

void write_plugins(std::ostream& out, const std::string& key, const std::vector<study::PluginConfig>& plugins) {
  if (!plugins.empty()) out << "  " << key << ":\n";
  for (const auto& plugin : plugins) out << "    - " << plugin.name << ": " << yaml(plugin.options) << "\n";
}

void write_space(std::ostream& out, const study::SpaceConfig& space) {
  out << "space:\n";
  write_plugins(out, "mutate", space.mutate);
  out << "  repair: {channels: " << space.repair_channels << ", spatial: " << space.repair_spatial << "}\n";
  write_params(out, space.params);
  if (!space.limit_params && !space.limit_flops) return;
  out << "  limits:\n";
  if (space.limit_params) out << "    params: " << yaml(*space.limit_params) << "\n";
  if (space.limit_flops) out << "    flops: " << yaml(*space.limit_flops) << "\n";
}

void write_options(std::ostream& out, const json& options) {
  for (const auto& [name, value] : options.items()) out << "  " << name << ": " << yaml(value) << "\n";
}

}  // namespace

std::string write_study(const study::StudyConfig& config) {
  const study::StudyConfig defaults;
  std::ostringstream out;
  out << "schema: 1\nrules: " << config.data.rules << "\nname: " << config.name << "\n";
  for (const auto& section : study_sections()) {
    std::ostringstream part;
    for (const auto& field : section.fields) {
      const json value = field.get(config);
      if (field.omits_default && value == field.get(defaults)) continue;
      if (value.is_null() && !field.optional) continue;
      part << "  " << (field.stored_name.empty() ? field.spec.name : field.stored_name) << ": "
           << (value.is_null() ? "none" : yaml(value)) << "\n";
    }
    if (section.name == "model" && !config.model.space.is_null())
      part << "  space: " << yaml(config.model.space) << "\n";
    if (section.name == "model" && config.model.frozen) {
      part << "  frozen: {through: " << yaml(config.model.frozen->through)
           << ", weights: " << yaml(config.model.frozen->weights) << "}\n";
    }
    if (section.name == "train" && config.data.class_weights) {
      part << "  class_weights: " << yaml(study::class_weights_json(config.data.class_weights)) << "\n";
    }
    if (section.name == "train" && !config.train.select.name.empty()) {
      part << "  select: {" << config.train.select.name << ": " << yaml(config.train.select.options) << "}\n";
    }
    if (section.name == "train" && !config.train.tune.name.empty()) {
      part << "  tune: {" << config.train.tune.name << ": " << yaml(config.train.tune.options) << "}\n";
    }
    if (section.name == "train" && !config.train.optimizer.rates.empty()) {
      part << "  rates: " << yaml(json(config.train.optimizer.rates)) << "\n";
    }
    if (section.name == "data") write_plugins(part, "augment", config.data.augment);
    if (section.name == "strategy") write_options(part, config.strategy.options);
    if (const auto& then = config.strategy.then; section.name == "strategy" && then) {
      part << "  then: {" << then->tune.name << ": " << yaml(then->tune.options) << ", best: " << then->best
           << ", end: " << then->end << "}\n";
    }
    if (section.name == "stop") write_options(part, config.stop.options);
    if (section.name == "keep") part << "  checkpoint_every: " << yaml(config.keep.checkpoint_every) << "\n";
    if (section.name == "model") write_space(part, config.space);
    if (!part.str().empty()) out << section.name << ":\n" << part.str();
  }
  out << (config.goals.empty() ? "goal: auto\n" : "goal:\n");
  for (const auto& goal : config.goals) out << "  - " << goal_text(goal, config.data.rules) << "\n";
  if (!config.subject_to.empty()) out << "subject_to:\n";
  for (const auto& constraint : config.subject_to) out << "  - " << yaml(constraint.text()) << "\n";
  if (!config.implied.empty()) out << "implied:\n";
  for (const auto& rule : config.implied) out << "  - " << yaml(study::rule_json(rule)) << "\n";
  return out.str();
}

std::string_view default_study() {
  return R"yaml(# The study that `lanista run` does without arguments: 1,797 handwritten digits.
schema: 1
data: {source: "builtin:digits", batch: 32}
space:
  mutate:
    - swap_op
    - widen: {by: [0.5, 2]}
    - deepen
    - remove
    - add_skip: {max: 2}
  params:
    optimizer:
      sgd: {lr: log(0.01, 0.3), momentum: range(0.5, 0.95)}
      adam: {lr: log(5e-4, 2e-2)}
    label_smoothing: [0, 0.05]
  limits: {params: "<= 200k", flops: "<= 5M"}
train: {epochs: 27, schedule: cosine, clip_norm: 5}
strategy: {name: evolution, population: 16, slots: 16}
stop: {rule: asha, rungs: [3, 9]}
budget: {trials: 60, minutes: 5}
)yaml";
}

}  // namespace lanista::studyfile
