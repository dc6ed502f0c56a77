#include "lanista/engine/study_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "lanista/base/text_distance.h"
#include "lanista/engine/study_fields.h"
#include "lanista/engine/study_notation.h"
#include "lanista/engine/yaml_guard.h"
#include "lanista/mutate/mutator.h"
#include "lanista/strategy/strategy.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

template <class Plugins>
std::vector<std::string> names_of(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) names.push_back(plugin.name);
  return names;
}

/// Turns the tree of one study file into a configuration, collecting every mistake.
class Reader {
 public:
  Reader(YAML::Node root, std::string file, std::set<std::string> overridden)
      : root_(std::move(root)), file_(std::move(file)), overridden_(std::move(overridden)) {}

  Result<study::StudyConfig> read() {
    if (!root_.IsMap()) {
      return Error{Code::kInvalidArgument, "a study file is a mapping of sections", place(root_, "")};
    }
    std::vector<std::string> keys{"schema", "name", "space", "goal"};
    for (const auto& section : sections_) keys.push_back(section.name);
    for (const auto& item : root_) {
      const auto key = item.first.as<std::string>();
      if (std::ranges::find(keys, key) == keys.end()) unknown(item.first, key, key, keys);
    }
    if (const auto node = find(root_, "schema")) read_schema(node);
    if (const auto node = find(root_, "name")) read_name(node);
    for (const auto& section : sections_) {
      if (const auto node = find(root_, section.name)) read_section(section, node);
    }
    if (const auto node = find(root_, "goal")) read_goals(node);
    if (const auto node = find(root_, "space")) read_space(node);
    check_plugins();
    check_whole();
    if (errors_.empty()) return config_;
    std::string all;
    for (const auto& error : errors_) all += (all.empty() ? "" : "\n") + error;
    return Error{Code::kInvalidArgument, all, ""};
  }

 private:
  // An undefined node is not the same as an absent key; yaml-cpp's operator[] on a const node is safe.
  static YAML::Node find(const YAML::Node& map, const std::string& key) {
    for (const auto& item : map) {
      if (item.first.as<std::string>() == key) return item.second;
    }
    return YAML::Node(YAML::NodeType::Undefined);
  }

  std::string place(const YAML::Node& node, const std::string& path) const {
    for (std::string at = path; !at.empty();) {
      if (overridden_.contains(at)) return "--set " + at;
      const auto dot = at.rfind('.');
      at = dot == std::string::npos ? "" : at.substr(0, dot);
    }
    const auto mark = node.Mark();
    if (mark.is_null()) return file_;
    return file_ + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
  }
  void mistake(const YAML::Node& node, const std::string& path, const std::string& message) {
    errors_.push_back(place(node, path) + ": " + path + ": " + message);
  }
  void unknown(const YAML::Node& node, const std::string& path, const std::string& key,
               const std::vector<std::string>& known) {
    const std::string near = nearest_name(key, known);
    mistake(node, path,
            "unknown key '" + key + "'; " + (near.empty() ? "known: " + join(known) : "did you mean '" + near + "'?"));
  }

  // Scalars become JSON as the study file means them; lists and maps keep their form. The cap stops alias explosions.
  json to_json(const YAML::Node& node) {
    if (++converted_ > 100'000) return {};
    if (node.IsSequence()) {
      json list = json::array();
      for (const auto& item : node) list.push_back(to_json(item));
      return list;
    }
    if (node.IsMap()) {
      json map = json::object();
      for (const auto& item : node) map[item.first.as<std::string>()] = to_json(item.second);
      return map;
    }
    if (!node.IsScalar()) return {};
    if (node.Tag() == "!") return node.Scalar();  // quoted
    return space::value_json(parse_value(node.Scalar()));
  }

  void read_schema(const YAML::Node& node) {
    if (to_json(node) != json(1)) mistake(node, "schema", "only schema 1 is known to this version");
  }
  void read_name(const YAML::Node& node) {
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    const auto good = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    };
    if (name.empty() || name.size() > 64 || name.front() == '.' || !std::ranges::all_of(name, good)) {
      return mistake(node, "name",
                     "'" + name + "' is not allowed; 1 to 64 letters, digits, '-', '_' or '.', not '.' first");
    }
    config_.name = name;
  }

  void read_section(const Section& section, const YAML::Node& node) {
    if (section.name == "stop" && node.IsScalar() && node.Scalar() == "none") return;
    if (!node.IsMap()) return mistake(node, section.name, "a mapping of settings is wanted here");
    std::vector<std::string> known;
    for (const auto& field : section.fields) known.push_back(field.spec.name);
    if (section.name == "keep") known.emplace_back("checkpoint_every");
    json extra = json::object();
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      const std::string path = section.name + "." + key;
      const auto field = std::ranges::find(section.fields, key, [](const Field& f) { return f.spec.name; });
      if (field != section.fields.end()) {
        read_field(*field, item.second, path);
      } else if (section.name == "keep" && key == "checkpoint_every") {
        read_checkpoint_every(item.second, path);
      } else if (section.name == "strategy" || section.name == "stop") {
        extra[key] = to_json(item.second);
        extra_nodes_[section.name].emplace(key, item.first);
      } else {
        unknown(item.first, path, key, known);
      }
    }
    if (section.name == "strategy") config_.strategy.options = extra;
    if (section.name == "stop") config_.stop.options = extra;
  }

  void read_field(const Field& field, const YAML::Node& node, const std::string& path) {
    json value = to_json(node);
    if (field.optional && (node.IsNull() || value == json("none"))) return field.set(config_, json());
    if (field.spec.kind == OptionSpec::Kind::kTextList && value.is_string()) value = json::array({value});
    auto resolved = resolve_options({{field.spec.name, value}}, {field.spec});
    if (!resolved) return mistake(node, path, resolved.error().message);
    const json& checked = (*resolved)[field.spec.name];
    if (path == "data.split") {
      double sum = 0;
      for (const auto& share : checked) sum += share.get<double>();
      if (checked.size() != 3 || std::abs(sum - 1.0) > 1e-9 || checked[0] == 0.0 || checked[1] == 0.0) {
        return mistake(
            node, path,
            checked.dump() + " is not allowed; three shares that add up to 1, training and validation above 0");
      }
    }
    field.set(config_, checked);
  }

  void read_checkpoint_every(const YAML::Node& node, const std::string& path) {
    const auto seconds = parse_seconds(node.IsScalar() ? node.Scalar() : "");
    if (!seconds) return mistake(node, path, seconds.error().message);
    config_.keep.checkpoint_every = *seconds;
  }

  void read_goals(const YAML::Node& node) {
    config_.goals.clear();
    const auto add = [&](const YAML::Node& item) {
      auto goal = parse_goal(item.IsScalar() ? item.Scalar() : "");
      if (!goal) return mistake(item, "goal", goal.error().message);
      config_.goals.push_back(*goal);
    };
    if (node.IsSequence()) {
      for (const auto& item : node) add(item);
    } else {
      add(node);
    }
    if (config_.goals.empty() && errors_.empty()) mistake(node, "goal", "at least one goal is wanted");
  }

  void read_space(const YAML::Node& node) {
    if (!node.IsMap()) return mistake(node, "space", "a mapping is wanted here");
    const std::vector<std::string> known{"mutate", "repair", "params", "limits"};
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      if (key == "mutate") {
        read_mutators(item.second);
      } else if (key == "repair") {
        read_repair(item.second);
      } else if (key == "params") {
        read_params(item.second);
      } else if (key == "limits") {
        read_limits(item.second);
      } else {
        unknown(item.first, "space." + key, key, known);
      }
    }
  }

  // A list of names, or of single-entry maps from name to options.
  void read_mutators(const YAML::Node& node) {
    const auto plugins = mutate::builtin_mutators();
    if (!node.IsSequence())
      return mistake(node, "space.mutate", "a list of mutators is wanted: " + join(names_of(plugins)));
    for (const auto& item : node) {
      if (item.IsScalar()) {
        add_mutator(plugins, item, item.Scalar(), json::object());
      } else if (item.IsMap() && item.size() == 1) {
        const auto entry = *item.begin();
        add_mutator(plugins, entry.first, entry.first.as<std::string>(),
                    entry.second.IsNull() ? json::object() : to_json(entry.second));
      } else {
        mistake(item, "space.mutate", "a mutator's name is wanted, or 'name: {options}'");
      }
    }
  }
  void add_mutator(const std::vector<mutate::MutatorPlugin>& plugins, const YAML::Node& node, const std::string& name,
                   const json& options) {
    const std::string path = "space.mutate." + name;
    const auto plugin = std::ranges::find(plugins, name, &mutate::MutatorPlugin::name);
    if (plugin == plugins.end()) return unknown(node, path, name, names_of(plugins));
    auto resolved = resolve_options(options, plugin->options);
    if (!resolved) return mistake(node, path, option_mistake(resolved.error()));
    if (auto made = plugin->make(*resolved); !made) return mistake(node, path, option_mistake(made.error()));
    config_.space.mutate.push_back({name, *resolved});
  }
  static std::string option_mistake(const Error& error) {
    return (error.where.empty() ? "" : error.where + ": ") + error.message;
  }

  void read_repair(const YAML::Node& node) {
    read_choice(node, "space.repair", "channels", {"project", "pad", "reject"}, config_.space.repair_channels);
    read_choice(node, "space.repair", "spatial", {"pool", "interpolate", "reject"}, config_.space.repair_spatial);
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      if (key != "channels" && key != "spatial")
        unknown(item.first, "space.repair." + key, key, {"channels", "spatial"});
    }
  }
  void read_choice(const YAML::Node& map, const std::string& path, const std::string& key,
                   const std::vector<std::string>& allowed, std::string& out) {
    const auto node = find(map, key);
    if (!node) return;
    const std::string value = node.IsScalar() ? node.Scalar() : "";
    if (std::ranges::find(allowed, value) == allowed.end()) {
      return mistake(node, path + "." + key, "'" + value + "' is not allowed; allowed: " + join(allowed));
    }
    out = value;
  }

  void read_limits(const YAML::Node& node) {
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      const std::string path = "space.limits." + key;
      if (key != "params" && key != "flops") {
        unknown(item.first, path, key, {"params", "flops"});
        continue;
      }
      const auto limit = parse_limit(item.second.IsScalar() ? item.second.Scalar() : "");
      if (!limit) {
        mistake(item.second, path, limit.error().message);
        continue;
      }
      (key == "params" ? config_.space.limit_params : config_.space.limit_flops) = *limit;
    }
  }

  void read_params(const YAML::Node& node) {
    if (!node.IsMap()) return mistake(node, "space.params", "a mapping from hyper-parameter to values is wanted");
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      // A map below a name is a choice with conditional parameters: optimizer: {sgd: {lr: …}, adam: {…}}.
      if (!item.second.IsMap()) {
        add_param(item.first, item.second, key, "space.params." + key, std::nullopt);
        continue;
      }
      space::Categorical branches;
      for (const auto& branch : item.second) branches.values.push_back(parse_value(branch.first.as<std::string>()));
      add_parameter(item.first, "space.params." + key, {key, branches, std::nullopt});
      for (const auto& branch : item.second) {
        const auto name = branch.first.as<std::string>();
        if (branch.second.IsNull()) continue;
        for (const auto& inner : branch.second) {
          const auto inner_key = inner.first.as<std::string>();
          add_param(inner.first, inner.second, inner_key, "space.params." + key + "." + name + "." + inner_key,
                    space::Parameter::Condition{key, parse_value(name)});
        }
      }
    }
  }
  void add_param(const YAML::Node& key_node, const YAML::Node& node, const std::string& key, const std::string& path,
                 const std::optional<space::Parameter::Condition>& when) {
    if (node.IsSequence()) {
      space::Categorical choice;
      for (const auto& item : node) choice.values.push_back(parse_value(item.IsScalar() ? item.Scalar() : ""));
      return add_parameter(key_node, path, {key, choice, when});
    }
    if (!node.IsScalar()) return mistake(node, path, "a value, a list, or a range such as log(1e-3, 0.5) is wanted");
    const auto domain = parse_domain(node.Scalar());
    if (domain && !*domain) return mistake(node, path, domain->error().message);
    add_parameter(key_node, path,
                  {key, domain ? **domain : space::Domain{space::Categorical{{parse_value(node.Scalar())}}}, when});
  }
  void add_parameter(const YAML::Node& node, const std::string& path, const space::Parameter& parameter) {
    const auto& known = study::sample_names();
    if (std::ranges::find(known, parameter.name) == known.end()) return unknown(node, path, parameter.name, known);
    // Every countable value must be one a recipe can hold; bounds of ranges stand for their insides.
    const std::int64_t count = space::domain_size(parameter.domain).value_or(2);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 1000); ++i) {
      const auto value = space::domain_value(parameter.domain, i, count);
      if (auto recipe = study::make_recipe(config_, "cross_entropy", {{parameter.name, value}}); !recipe) {
        return mistake(node, path, recipe.error().message);
      }
    }
    if (auto added = config_.space.params.add(parameter); !added) mistake(node, path, added.error().message);
  }

  void check_plugins() {
    check_plugin(strategy::builtin_strategies(), "strategy", "name", config_.strategy.name, config_.strategy.options);
    check_plugin(strategy::builtin_stopping_rules(), "stop", "rule", config_.stop.rule, config_.stop.options);
  }
  template <class Plugins>
  void check_plugin(const Plugins& plugins, const std::string& section, const std::string& key, const std::string& name,
                    json& options) {
    const auto section_node = find(root_, section);
    const auto node = section_node && section_node.IsMap() && find(section_node, key) ? find(section_node, key) : root_;
    const auto plugin = std::ranges::find(plugins, name, [](const auto& p) { return p.name; });
    if (plugin == plugins.end()) {
      const std::string near = nearest_name(name, names_of(plugins));
      return mistake(node, section + "." + key,
                     "'" + name + "' is not known; known: " + join(names_of(plugins)) +
                         (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    auto resolved = resolve_options(options, plugin->options);
    if (resolved) {
      options = *resolved;
      return;
    }
    const auto& nodes = extra_nodes_[section];
    const auto culprit = nodes.find(resolved.error().where);
    mistake(culprit == nodes.end() ? node : culprit->second, section + "." + resolved.error().where,
            resolved.error().message);
  }

  void check_whole() {
    const auto& budget = config_.budget;
    if (!budget.trials && !budget.steps && !budget.guard_minutes) {
      mistake(find(root_, "budget"), "budget", "nothing ends this study; give trials, steps or guard_minutes");
    }
    if (config_.model.base.empty()) mistake(find(root_, "model"), "model.base", "at least one base model is wanted");
  }

  YAML::Node root_;
  std::string file_;
  std::set<std::string> overridden_;
  const std::vector<Section> sections_ = study_sections();
  study::StudyConfig config_;
  std::vector<std::string> errors_;
  std::map<std::string, std::map<std::string, YAML::Node>> extra_nodes_;
  int converted_ = 0;
};

Result<void> set_override(YAML::Node root, const Override& override) {
  const std::string where = "--set " + override.key;
  const std::string value = protect_calls(override.value);
  LANISTA_TRY(guard_yaml(value, where));
  std::string rest = override.key;
  YAML::Node at = root;
  while (true) {
    const auto dot = rest.find('.');
    const std::string key = rest.substr(0, dot);
    if (key.empty()) return Error{Code::kInvalidArgument, "a key such as train.epochs is wanted", where};
    if (!at.IsMap() && !at.IsNull() && at.IsDefined()) {
      return Error{Code::kInvalidArgument, "'" + key + "' cannot be set inside a value that is not a mapping", where};
    }
    if (dot == std::string::npos) {
      at[key] = YAML::Load(value);
      return {};
    }
    at.reset(at[key]);
    rest = rest.substr(dot + 1);
  }
}

}  // namespace

Result<study::StudyConfig> read_study(std::string_view text, const std::string& file,
                                      const std::vector<Override>& overrides) {
  const std::string protected_text = protect_calls(text);
  LANISTA_TRY(guard_yaml(protected_text, file));
  try {
    YAML::Node root = YAML::Load(protected_text);
    if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
    std::set<std::string> overridden;
    for (const auto& override : overrides) {
      LANISTA_TRY(set_override(root, override));
      overridden.insert(override.key);
    }
    return Reader(root, file, overridden).read();
  } catch (const YAML::Exception& e) {
    return Error{Code::kInvalidArgument, e.msg,
                 file + ":" + std::to_string(e.mark.line + 1) + ":" + std::to_string(e.mark.column + 1)};
  }
}

}  // namespace lanista::engine
