#include "lanista/io/studyfile/study_schema.h"

#include <string>
#include <utility>
#include <vector>

#include "lanista/io/data/augment.h"
#include "lanista/io/data/selector.h"
#include "lanista/io/studyfile/blueprint.h"
#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::studyfile {
namespace {

using nlohmann::json;

json object_schema(const std::string& help) {
  return {{"type", "object"}, {"description", help}, {"additionalProperties", false}, {"properties", json::object()}};
}

json text_schema(const std::string& help) { return {{"type", "string"}, {"description", help}}; }

json words_schema(const std::vector<std::string>& words, const std::string& help) {
  return {{"enum", words}, {"description", help}};
}

json options_schema(const std::vector<OptionSpec>& options, const std::string& help) {
  json schema = object_schema(help);
  for (const auto& option : options) schema["properties"][option.name] = option_schema(option);
  return schema;
}

/// A name, or a map of one entry from name to options.
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

/// `schema`, or none: the default.
json optional_schema(json schema, const std::string& help) {
  schema["description"] = help;
  schema["default"] = nullptr;
  for (const json& nothing : {json{{"const", "none"}}, json{{"type", "null"}}}) schema["anyOf"].push_back(nothing);
  return schema;
}

/// A mapping from any name to numbers that `bounds` allows.
json numbers_schema(json bounds) {
  bounds["type"] = "number";
  return {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", std::move(bounds)}};
}

void add_data(json& data) {
  const json fixed = data["batch"], adaptive{{"type", "string"}, {"pattern", "^adaptive\\("}};
  data["batch"] = {
      {"description", "samples of a training step; adaptive(FIRST, MOST): a batch that follows its gradient noise"},
      {"default", fixed.at("default")},
      {"anyOf", {fixed, adaptive}}};
  data["augment"] = plugins_schema(data::builtin_augmentations(), "changes of training samples, in this order");
}

void add_train(json& train) {
  train["class_weights"] = {
      {"description", "weight of a class in the training loss; balanced: equal weight for each class"},
      {"default", nullptr},
      {"anyOf",
       {{{"enum", {"none", "balanced"}}},
        numbers_schema({{"minimum", 0}, {"maximum", study::kMaxClassWeight}}),
        {{"type", "null"}}}}};
  train["select"] =
      optional_schema(plugin_schema(data::builtin_selectors()), "examples that are trained on; none: all");
  train["tune"] = optional_schema(plugin_schema(study::builtin_tuners()),
                                  "settings that a trial changes itself while it trains; none: it changes nothing");
  train["rates"] = {{"description",
                     "factors of the learning rate by part: base, head, or a node by label or number (%4) with all "
                     "that it reads"},
                    {"default", nullptr},
                    {"anyOf",
                     {{{"const", "none"}},
                      numbers_schema({{"exclusiveMinimum", 0}, {"maximum", study::kMaxRateFactor}}),
                      {{"type", "null"}}}}};
  json& schedule = train["schedule"];
  json replayed = object_schema("settings of another study's winner, by step");
  replayed["properties"]["from"] = text_schema("folder of a study, or of a model package, with a schedule");
  replayed["required"] = {"from"};
  schedule = {
      {"description", schedule["description"]}, {"default", schedule["default"]}, {"anyOf", {schedule, replayed}}};
}

void add_model(json& model) {
  model["space"] = {
      {"description", "space of models, instead of base: blocks, a YAML file, or builtin:NAME?option=value"},
      {"anyOf", {{{"type", "string"}}, blueprint_json_schema(), {{"type", "null"}}}}};
  json frozen = object_schema("part of the base model that is not trained");
  frozen["properties"]["through"] = text_schema("last node of the part, by label or number (%4)");
  frozen["properties"]["weights"] = text_schema("weights of the part: a safetensors file, or base");
  frozen["required"] = {"through", "weights"};
  model["frozen"] = {{"description", frozen["description"]}, {"anyOf", {frozen, {{"type", "null"}}}}};
}

/// Options of all strategies. Of options with one name the last strategy's counts.
void add_strategy(json& strategy) {
  for (const auto& plugin : search::builtin_strategies()) {
    strategy["name"]["enum"].push_back(plugin.name);
    for (const auto& option : plugin.options) strategy[option.name] = option_schema(option);
  }
  strategy["name"]["enum"].push_back(std::string(kMltuner));
  json then = options_schema(second_stage_options(), "the best trials of the search, trained again and tuned");
  for (const study::TunePlugin& plugin : second_stage_tuners()) {
    then["properties"][plugin.name] = options_schema(plugin.options, plugin.help);
    then["required"].push_back(plugin.name);
  }
  strategy["then"] =
      optional_schema({{"anyOf", json::array({then})}}, "second stage after the search; none: no second stage");
}

/// Options of strategy mltuner that add_strategy has not added, and those of all stopping rules.
void add_further_options(json& strategy, json& stop) {
  for (const OptionSpec& option : mltuner_strategy_options()) {
    if (!strategy.contains(option.name)) strategy[option.name] = option_schema(option);
  }
  for (const auto& plugin : search::builtin_stopping_rules()) {
    stop["rule"]["enum"].push_back(plugin.name);
    for (const auto& option : plugin.options) stop[option.name] = option_schema(option);
  }
}

json space_schema() {
  json space = object_schema("what may vary between trials");
  json& keys = space["properties"];
  keys["mutate"] = plugins_schema(mutate::builtin_mutators(), "mutators that may change a model");
  keys["repair"] = object_schema("how inputs of a join are made to fit");
  keys["repair"]["properties"] = {
      {"channels", words_schema({"project", "pad", "reject"}, "repair of channels: a projection, zeros, or none")},
      {"spatial", words_schema({"pool", "interpolate", "reject"}, "repair of sizes: pooling, resizing, or none")}};
  keys["params"] = {{"type", "object"},
                    {"description",
                     "hyper-parameters: a value, a list of choices, or range() log() int() quant() "
                     "choice()"},
                    {"propertyNames", {{"enum", study::sample_names()}}}};
  keys["limits"] = object_schema("upper bounds that are checked before training");
  keys["limits"]["properties"] = {
      {"params", {{"type", {"string", "number"}}, {"description", "trained parameters of a model"}}},
      {"flops", {{"type", {"string", "number"}}, {"description", "forward FLOPs of a sample"}}}};
  return space;
}

json texts_schema(const std::string& help) {
  return {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}},
          {"description", help}};
}

json implied_schema() {
  std::vector<std::string> events = study::pruning_events();
  std::erase(events, study::kWhenRungDecided);
  json rule = object_schema("ends a trial that is further than one that failed, and equal otherwise");
  rule["properties"] = {{"when", words_schema(events, "event that implies others")},
                        {"along", text_schema("numeric parameter of the space")},
                        {"direction", words_schema({"up", "down"}, "direction in which trials are implied")}};
  rule["required"] = {"when", "along", "direction"};
  json of_rungs = object_schema("ends a trial that cannot continue from its rung, whatever it measures there");
  of_rungs["properties"] = {
      {"when", {{"const", study::kWhenRungDecided}, {"description", "a rung with enough perfect results"}}}};
  of_rungs["required"] = {"when"};
  return {{"description", "rules by which the result of one trial ends others without training"},
          {"anyOf",
           {{{"type", "array"}, {"items", {{"anyOf", {rule, of_rungs}}}}}, {{"const", "none"}}, {{"type", "null"}}}}};
}

json type_schema(OptionSpec::Kind kind) {
  using Kind = OptionSpec::Kind;
  switch (kind) {
    case Kind::kBool:
      return {{"type", "boolean"}};
    case Kind::kInt:
    case Kind::kIntList:
      return {{"type", "integer"}};
    case Kind::kReal:
    case Kind::kRealList:
      return {{"type", "number"}};
    case Kind::kText:
    case Kind::kTextList:
      return {{"type", "string"}};
    case Kind::kMap:
    case Kind::kMapList:
      break;
  }
  return {{"type", "object"}};
}

bool is_list(OptionSpec::Kind kind) {
  using Kind = OptionSpec::Kind;
  return kind == Kind::kIntList || kind == Kind::kRealList || kind == Kind::kTextList || kind == Kind::kMapList;
}

}  // namespace

json option_schema(const OptionSpec& spec) {
  json item = type_schema(spec.kind);
  if (spec.min) item["minimum"] = *spec.min;
  if (spec.max) item["maximum"] = *spec.max;
  if (!spec.allowed.empty() && spec.kind == OptionSpec::Kind::kInt) {
    item = {{"anyOf", {item, {{"enum", spec.allowed}}}}};
  } else if (!spec.allowed.empty()) {
    item["enum"] = spec.allowed;
  }
  json schema = is_list(spec.kind) ? json{{"type", "array"}, {"items", item}} : item;
  schema["description"] = spec.help;
  if (!spec.default_value.is_null()) schema["default"] = spec.default_value;
  return schema;
}

json study_json_schema() {
  const study::StudyConfig defaults;
  json schema = object_schema("a lanista study");
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  json& properties = schema["properties"];
  properties["schema"] = {{"const", 1}, {"description", "version of the study file"}};
  properties["rules"] = {{"type", "integer"},
                         {"enum", {study::kFirstRules, study::kLatestRules}},
                         {"default", study::kLatestRules},
                         {"description",
                          "version of the rules by which data, ranges and rungs are read; "
                          "1: those of studies of version 0.1"}};
  properties["name"] = text_schema("name of the study, which its folder has; without one, that of the data source");
  for (const auto& section : study_sections()) {
    json part = object_schema(section.help);
    for (const auto& field : section.fields) {
      json item = option_schema(field.spec);
      item["default"] = field.get(defaults);
      part["properties"][field.spec.name] = item;
      if (field.stored_name.empty()) continue;
      item["deprecated"] = true;
      item["description"] = "older name of " + field.spec.name;
      part["properties"][field.stored_name] = item;
    }
    properties[section.name] = part;
  }
  properties["train"]["not"] = {{"required", {"epochs", "steps"}}};
  add_data(properties["data"]["properties"]);
  add_train(properties["train"]["properties"]);
  add_model(properties["model"]["properties"]);
  add_strategy(properties["strategy"]["properties"]);
  add_further_options(properties["strategy"]["properties"], properties["stop"]["properties"]);
  properties["keep"]["properties"]["checkpoint_every"] = {{"description", "time between checkpoints of a trial"},
                                                          {"default", "30s"}};
  properties["space"] = space_schema();
  properties["goal"] =
      texts_schema("what to optimise: maximize METRIC, minimize METRIC or METRIC; auto: by the kind of target");
  properties["subject_to"] = texts_schema(
      "inequalities over metrics, hyper-parameters, params and flops, such as val_loss <= 1 or params <= 50k");
  properties["implied"] = implied_schema();
  return schema;
}

}  // namespace lanista::studyfile
