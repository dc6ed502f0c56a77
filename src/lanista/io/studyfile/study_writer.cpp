#include <algorithm>
#include <sstream>

#include "lanista/io/data/augment.h"
#include "lanista/io/data/selector.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/io/studyfile/blueprint.h"
#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning.h"

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

json option_schema(const OptionSpec& spec) {
  using Kind = OptionSpec::Kind;
  json item;
  switch (spec.kind) {
    case Kind::kBool:
      item["type"] = "boolean";
      break;
    case Kind::kInt:
    case Kind::kIntList:
      item["type"] = "integer";
      break;
    case Kind::kReal:
    case Kind::kRealList:
      item["type"] = "number";
      break;
    case Kind::kText:
    case Kind::kTextList:
      item["type"] = "string";
      break;
    case Kind::kMap:
    case Kind::kMapList:
      item["type"] = "object";
      break;
  }
  if (spec.min) item["minimum"] = *spec.min;
  if (spec.max) item["maximum"] = *spec.max;
  if (!spec.allowed.empty() && spec.kind == Kind::kInt) {
    item = {{"anyOf", {item, {{"enum", spec.allowed}}}}};
  } else if (!spec.allowed.empty()) {
    item["enum"] = spec.allowed;
  }
  const bool list = spec.kind == Kind::kIntList || spec.kind == Kind::kRealList || spec.kind == Kind::kTextList ||
                    spec.kind == Kind::kMapList;
  json schema = list ? json{{"type", "array"}, {"items", item}} : item;
  schema["description"] = spec.help;
  if (!spec.default_value.is_null()) schema["default"] = spec.default_value;
  return schema;
}

json object_schema(const std::string& help) {
  return {{"type", "object"}, {"description", help}, {"additionalProperties", false}, {"properties", json::object()}};
}

json options_schema(const std::vector<OptionSpec>& options, const std::string& help) {
  json schema = object_schema(help);
  for (const auto& option : options) schema["properties"][option.name] = option_schema(option);
  return schema;
}

/// The schema of a plug-in: a name, or a map of one entry from name to options.
template <class Plugin>
json plugin_schema(const std::vector<Plugin>& plugins) {
  json items = json::array();
  for (const auto& plugin : plugins) {
    items.push_back({{"const", plugin.name}, {"description", plugin.help}});
    json by_name = object_schema(plugin.help);
    by_name["properties"][plugin.name] = options_schema(plugin.options, plugin.help);
    items.push_back(by_name);
  }
  return {{"anyOf", items}};
}
template <class Plugin>
json plugins_schema(const std::vector<Plugin>& plugins, const std::string& help) {
  return {{"type", "array"}, {"description", help}, {"items", plugin_schema(plugins)}};
}

}  // namespace

std::string write_study(const study::StudyConfig& config) {
  const study::StudyConfig defaults;
  std::ostringstream out;
  out << "schema: 1\nname: " << config.name << "\n";
  for (const auto& section : study_sections()) {
    std::ostringstream part;
    for (const auto& field : section.fields) {
      const json value = field.get(config);
      if (field.omits_default && value == field.get(defaults)) continue;
      if (value.is_null() && !field.optional) continue;
      part << "  " << field.spec.name << ": " << (value.is_null() ? "none" : yaml(value)) << "\n";
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
    if (section.name == "train" && !config.train.rates.empty()) {
      part << "  rates: " << yaml(json(config.train.rates)) << "\n";
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
  for (const auto& goal : config.goals) out << "  - " << goal_text(goal) << "\n";
  if (!config.subject_to.empty()) out << "subject_to:\n";
  for (const auto& constraint : config.subject_to) out << "  - " << yaml(constraint.text()) << "\n";
  if (!config.implied.empty()) out << "implied:\n";
  for (const auto& rule : config.implied) out << "  - " << yaml(study::rule_json(rule)) << "\n";
  return out.str();
}

json study_json_schema() {
  const study::StudyConfig defaults;
  json schema = object_schema("a lanista study");
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  json& properties = schema["properties"];
  properties["schema"] = {{"const", 1}};
  properties["name"] = {{"type", "string"}, {"description", "of the study; without one, that of the data source"}};
  for (const auto& section : study_sections()) {
    json part = object_schema(section.help);
    for (const auto& field : section.fields) {
      json item = option_schema(field.spec);
      item["default"] = field.get(defaults);
      part["properties"][field.spec.name] = item;
    }
    properties[section.name] = part;
  }
  json& batch = properties["data"]["properties"]["batch"];
  const json sized = batch, grows{{"type", "string"}, {"pattern", "^adaptive\\("}};
  batch = {{"description", "samples a training step; adaptive(FROM, MOST): what its gradient noise asks for"},
           {"default", sized.at("default")},
           {"anyOf", {sized, grows}}};
  properties["train"]["not"] = {{"required", {"epochs", "steps"}}};
  properties["train"]["properties"]["class_weights"] = {
      {"description", "how much rows of a class count in the training loss; balanced: each class as much as any other"},
      {"default", nullptr},
      {"anyOf",
       {{{"enum", {"none", "balanced"}}},
        {{"type", "object"},
         {"minProperties", 1},
         {"additionalProperties", {{"type", "number"}, {"minimum", 0}, {"maximum", study::kMaxClassWeight}}}},
        {{"type", "null"}}}}};
  json& select = properties["train"]["properties"]["select"] = plugin_schema(data::builtin_selectors());
  select["description"] = "which examples are trained on; none: all";
  select["default"] = nullptr;
  for (const json& nothing : {json{{"const", "none"}}, json{{"type", "null"}}}) select["anyOf"].push_back(nothing);
  json& tune = properties["train"]["properties"]["tune"] = plugin_schema(study::builtin_tuners());
  tune["description"] = "what trials change of themselves while they train; none: nothing";
  tune["default"] = nullptr;
  for (const json& nothing : {json{{"const", "none"}}, json{{"type", "null"}}}) tune["anyOf"].push_back(nothing);
  properties["train"]["properties"]["rates"] = {
      {"description",
       "factors of the learning rate by part: base, head, or a node by label or as %4 with all it reads"},
      {"default", nullptr},
      {"anyOf",
       {{{"const", "none"}},
        {{"type", "object"},
         {"minProperties", 1},
         {"additionalProperties", {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", study::kMaxRateFactor}}}},
        {{"type", "null"}}}}};
  json& schedule = properties["train"]["properties"]["schedule"];
  json replay_schedule = object_schema("the settings of the winner of another study, by step");
  replay_schedule["properties"]["from"] = {{"type", "string"}, {"description", "a study's folder, or its best/"}};
  replay_schedule["required"] = {"from"};
  schedule = {{"description", schedule["description"]},
              {"default", schedule["default"]},
              {"anyOf", {schedule, replay_schedule}}};
  for (const OptionSpec& option : mltuner_strategy_options()) {
    if (!properties["strategy"]["properties"].contains(option.name)) {
      properties["strategy"]["properties"][option.name] = option_schema(option);
    }
  }
  json then =
      options_schema(second_stage_options(), "the best trials of the search, trained once more, tuning themselves");
  for (const study::TunePlugin& plugin : second_stage_tuners()) {
    then["properties"][plugin.name] = options_schema(plugin.options, plugin.help);
    then["required"].push_back(plugin.name);
  }
  properties["strategy"]["properties"]["then"] = {{"description", "what follows on the search; none: nothing"},
                                                  {"default", nullptr},
                                                  {"anyOf", {then, {{"const", "none"}}, {{"type", "null"}}}}};
  properties["keep"]["properties"]["checkpoint_every"] = {{"description", "seconds between checkpoints of a trial"},
                                                          {"default", "30s"}};
  properties["model"]["properties"]["space"] = {
      {"description", "a space of models in place of bases: blocks inline, a YAML file, or builtin:NAME?option=value"},
      {"anyOf", {{{"type", "string"}}, blueprint_json_schema(), {{"type", "null"}}}}};
  json frozen = object_schema("the part of the base model that is not trained");
  frozen["properties"]["through"] = {{"type", "string"}, {"description", "its last node, by label or as %4"}};
  frozen["properties"]["weights"] = {{"type", "string"}, {"description", "a safetensors file, or base"}};
  frozen["required"] = {"through", "weights"};
  properties["model"]["properties"]["frozen"] = {{"anyOf", {frozen, {{"type", "null"}}}}};
  properties["data"]["properties"]["augment"] =
      plugins_schema(data::builtin_augmentations(), "changes training samples, in this order");
  for (const auto& plugin : strategy::builtin_strategies()) {
    properties["strategy"]["properties"]["name"]["enum"].push_back(plugin.name);
    for (const auto& option : plugin.options) properties["strategy"]["properties"][option.name] = option_schema(option);
  }
  properties["strategy"]["properties"]["name"]["enum"].push_back(std::string(kMltuner));
  for (const auto& option : mltuner_strategy_options()) {
    auto& known = properties["strategy"]["properties"];
    if (!known.contains(option.name)) known[option.name] = option_schema(option);
  }
  for (const auto& plugin : strategy::builtin_stopping_rules()) {
    properties["stop"]["properties"]["rule"]["enum"].push_back(plugin.name);
    for (const auto& option : plugin.options) properties["stop"]["properties"][option.name] = option_schema(option);
  }
  json space = object_schema("what may vary");
  space["properties"]["mutate"] = plugins_schema(mutate::builtin_mutators(), "how models may be changed");
  space["properties"]["repair"] = object_schema("how shapes at joins are made to fit");
  space["properties"]["repair"]["properties"] = {{"channels", {{"enum", {"project", "pad", "reject"}}}},
                                                 {"spatial", {{"enum", {"pool", "interpolate", "reject"}}}}};
  space["properties"]["params"] = {
      {"type", "object"},
      {"description", "a value, a list of choices, or range() log() int() quant() choice()"},
      {"propertyNames", {{"enum", study::sample_names()}}}};
  space["properties"]["limits"] = object_schema("upper bounds checked before training");
  space["properties"]["limits"]["properties"] = {{"params", {{"type", {"string", "number"}}}},
                                                 {"flops", {{"type", {"string", "number"}}}}};
  properties["space"] = space;
  properties["goal"] = {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}},
                        {"description", "maximize METRIC, minimize METRIC or METRIC; auto: by the kind of target"}};
  properties["subject_to"] = {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}},
                              {"description",
                               "inequalities over metrics, hyper-parameters, params and flops, such as val_loss <= 1 "
                               "or params <= 50k"}};
  std::vector<std::string> of_parameters = study::pruning_events();
  std::erase(of_parameters, study::kWhenRungDecided);
  json rule = object_schema("a trial that lies beyond a failed trial, and is equal otherwise, is not trained");
  rule["properties"] = {{"when", {{"enum", of_parameters}}},
                        {"along", {{"type", "string"}, {"description", "a numeric parameter of the space"}}},
                        {"direction", {{"enum", {"up", "down"}}}}};
  rule["required"] = {"when", "along", "direction"};
  json of_rungs =
      object_schema("a trial that its rung cannot promote, whatever its result there, is trained no further");
  of_rungs["properties"] = {{"when", {{"const", study::kWhenRungDecided}}}};
  of_rungs["required"] = {"when"};
  properties["implied"] = {
      {"description", "rules by which the result of one trial ends other trials"},
      {"anyOf",
       {{{"type", "array"}, {"items", {{"anyOf", {rule, of_rungs}}}}}, {{"const", "none"}}, {{"type", "null"}}}}};
  return schema;
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
budget: {trials: 60, guard_minutes: 5}
)yaml";
}

}  // namespace lanista::studyfile
