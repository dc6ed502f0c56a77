#include "lanista/io/studyfile/space_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/io/studyfile/conditional_params.h"
#include "lanista/io/studyfile/foreign_words.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/plugin_reader.h"
#include "lanista/model/mutate/mutator.h"

namespace lanista::studyfile {
namespace {

using nlohmann::json;

bool is_whole(double x) { return x == std::floor(x); }

std::string call_text(const std::string& name, std::vector<double> numbers, bool log) {
  std::string text = name + "(";
  for (const double number : numbers) text += (text.back() == '(' ? "" : ", ") + space::value_text(number);
  return text + (log ? ", log)" : ")");
}

/// The form with whole numbers of a range; empty if there is no whole number in it.
std::string whole_form(const space::FloatRange& range) {
  const double lo = std::ceil(range.lo), hi = std::floor(range.hi);
  if (lo > hi) return "";
  std::vector<double> numbers{lo, hi};
  if (range.quant >= 1.5) numbers.push_back(std::floor(range.quant + 0.5));
  return call_text("int", numbers, range.log);
}

/// Why the domain of a setting of whole numbers has numbers with a fraction, and the form to write; empty: it has none.
std::string fraction_text(const space::Parameter& parameter) {
  const std::string what = parameter.name + " is a whole number, and ";
  if (const auto* choice = std::get_if<space::Categorical>(&parameter.domain)) {
    std::string list, seen;
    for (const space::Value& value : choice->values) {
      const auto* real = std::get_if<double>(&value);
      if (real != nullptr && !is_whole(*real) && seen.empty()) seen = space::value_text(value);
      const std::string whole = space::value_text(real == nullptr ? value : space::Value(std::round(*real)));
      if ((", " + list + ", ").find(", " + whole + ", ") == std::string::npos)
        list += (list.empty() ? "" : ", ") + whole;
    }
    return seen.empty() ? "" : what + seen + " is not; allowed are whole numbers, such as [" + list + "]";
  }
  const auto* range = std::get_if<space::FloatRange>(&parameter.domain);
  if (range == nullptr) return "";
  const bool is_grid = range->quant > 0 || range->lo == range->hi;
  const bool has_whole_grid = is_whole(range->quant) && is_whole(std::get<double>(space::domain_value(*range, 0, 1)));
  if (is_grid && has_whole_grid) return "";
  const std::string form = whole_form(*range);
  return what + space::domain_text(parameter.domain) + " has numbers with a fraction; " +
         (form.empty() ? "it has no whole number" : "write " + form);
}

/// The full key of the hyper-parameter that `key` names, also in words of other tools; empty: none.
std::set<std::string> params_meant_by(const std::string& key) {
  const auto& names = study::sample_names();
  std::set<std::string> out;
  if (std::ranges::find(names, key) != names.end()) out.insert("space.params." + key);
  for (const ForeignSetting& each : settings_meant_by(key)) {
    const std::string name(each.key.substr(each.key.rfind('.') + 1));
    if (std::ranges::find(names, name) != names.end()) out.insert("space.params." + name);
  }
  return out;
}

class SpaceReader {
 public:
  SpaceReader(study::StudyConfig& config, Mistakes& mistakes) : config_(config), mistakes_(mistakes) {}

  void read(const YAML::Node& node) {
    if (!node.IsMap()) return mistakes_.add(node, "space", "a mapping is wanted here");
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
        mistakes_.unknown(item.first, "space." + key, key, known, params_meant_by(key));
      }
    }
  }

 private:
  void read_mutators(const YAML::Node& node) {
    const auto check = [](const mutate::MutatorPlugin& plugin, const Options& options) -> Result<void> {
      LANISTA_TRY(plugin.make(options));
      return {};
    };
    read_plugins(node, "space.mutate", mutate::builtin_mutators(), config_.space.mutate, mistakes_, check);
  }

  void read_repair(const YAML::Node& node) {
    read_choice(node, "space.repair", "channels", {"project", "pad", "reject"}, config_.space.repair_channels);
    read_choice(node, "space.repair", "spatial", {"pool", "interpolate", "reject"}, config_.space.repair_spatial);
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      if (key != "channels" && key != "spatial")
        mistakes_.unknown(item.first, "space.repair." + key, key, {"channels", "spatial"});
    }
  }
  void read_choice(const YAML::Node& map, const std::string& path, const std::string& key,
                   const std::vector<std::string>& allowed, std::string& out) {
    const auto node = find_key(map, key);
    if (!node) return;
    const std::string value = node.IsScalar() ? node.Scalar() : "";
    if (std::ranges::find(allowed, value) == allowed.end()) {
      return mistakes_.add(node, path + "." + key, "'" + value + "' is not allowed; allowed: " + join(allowed));
    }
    out = value;
  }

  void read_limits(const YAML::Node& node) {
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      const std::string path = "space.limits." + key;
      if (key != "params" && key != "flops") {
        mistakes_.unknown(item.first, path, key, {"params", "flops"});
        continue;
      }
      const auto limit = parse_limit(item.second.IsScalar() ? item.second.Scalar() : "");
      if (!limit) {
        mistakes_.add(item.second, path, limit.error().message);
        continue;
      }
      (key == "params" ? config_.space.limit_params : config_.space.limit_flops) = *limit;
    }
  }

  void read_params(const YAML::Node& node) {
    if (!node.IsMap()) return mistakes_.add(node, "space.params", "a mapping from hyper-parameter to values is wanted");
    conditional_ = conditional_params(node, config_, mistakes_);
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      if (is_conditional(key)) continue;  // read with the setting that it depends on
      // A map below a name is a choice with conditional parameters: optimizer: {sgd: {lr: …}, adam: {…}}.
      if (!item.second.IsMap()) {
        add_param(item.first, item.second, key, "space.params." + key, {});
        std::vector<space::Value> values;
        for (const ConditionalParam& each : conditional_) {
          if (each.parent == key && std::ranges::find(values, each.value) == values.end()) values.push_back(each.value);
        }
        for (const space::Value& value : values) add_conditional(key, value);
        continue;
      }
      space::Categorical branches;
      for (const auto& branch : item.second) branches.values.push_back(parse_value(branch.first.as<std::string>()));
      add_parameter(item.first, "space.params." + key, {key, branches, {}});
      for (const auto& branch : item.second) {
        const auto name = branch.first.as<std::string>();
        if (!branch.second.IsNull()) read_branch(branch.second, key, name);
        add_conditional(key, parse_value(name));
      }
    }
  }
  /// Reads the parameters of the branch `name` of the choice `key`.
  void read_branch(const YAML::Node& node, const std::string& key, const std::string& name) {
    for (const auto& inner : node) {
      const auto inner_key = inner.first.as<std::string>();
      const std::string path = "space.params." + key + "." + name + "." + inner_key;
      const std::string why = key == "optimizer" ? idle_text(inner_key, {name}) : "";
      if (!why.empty()) {
        mistakes_.add(inner.first, path, why);
      } else {
        add_param(inner.first, inner.second, inner_key, path, {{key, {parse_value(name)}}});
      }
    }
  }
  bool is_conditional(const std::string& key) const {
    return std::ranges::any_of(conditional_, [&](const ConditionalParam& each) { return each.key.Scalar() == key; });
  }
  /// Adds the parameters of `conditional_` that exist where `parent` has this value.
  void add_conditional(const std::string& parent, const space::Value& value) {
    for (const ConditionalParam& each : conditional_) {
      if (each.parent != parent || each.value != value) continue;
      const std::string& name = each.key.Scalar();
      add_param(each.key, each.domain, name, "space.params." + name, {{parent, {value}}});
    }
  }
  void add_param(const YAML::Node& key_node, const YAML::Node& node, const std::string& key, const std::string& path,
                 const std::vector<space::Parameter::Condition>& when) {
    if (node.IsSequence()) {
      space::Categorical choice;
      for (const auto& item : node) choice.values.push_back(parse_value(item.IsScalar() ? item.Scalar() : ""));
      return add_parameter(key_node, path, {key, choice, when});
    }
    if (!node.IsScalar())
      return mistakes_.add(node, path, "a value, a list, or a range such as log(1e-3, 0.5) is wanted");
    const auto domain = parse_domain(node.Scalar(), config_.data.rules);
    if (domain && !*domain) return mistakes_.add(node, path, domain->error().message);
    add_parameter(key_node, path,
                  {key, domain ? **domain : space::Domain{space::Categorical{{parse_value(node.Scalar())}}}, when});
  }
  void add_parameter(const YAML::Node& node, const std::string& path, const space::Parameter& parameter) {
    const auto& known = study::sample_names();
    if (std::ranges::find(known, parameter.name) == known.end())
      return mistakes_.unknown(node, path, parameter.name, known);
    if (takes_whole_numbers(parameter.name)) {
      if (const std::string why = fraction_text(parameter); !why.empty()) return mistakes_.add(node, path, why);
    }
    // Every countable value must be valid in a recipe, up to a number of them. Of ranges only the bounds are checked.
    constexpr std::int64_t kMostChecked = 1000;
    const std::int64_t count = space::domain_size(parameter.domain).value_or(2);
    for (std::int64_t i = 0; i < std::min(count, kMostChecked); ++i) {
      const std::int64_t index = i + 1 == kMostChecked ? count - 1 : i;
      const auto value = space::domain_value(parameter.domain, index, count);
      if (auto recipe = make_recipe(parameter.name, value); !recipe) {
        return mistakes_.add(node, path, recipe.error().message);
      }
    }
    if (auto added = config_.space.params.add(parameter); !added) mistakes_.add(node, path, added.error().message);
  }

  Result<study::Recipe> make_recipe(const std::string& name, const space::Value& value) const {
    return study::make_recipe(config_, "cross_entropy", {{name, value}});
  }
  /// True if a setting accepts whole numbers, also as reals, and refuses fractions.
  bool takes_whole_numbers(const std::string& name) const { return make_recipe(name, 2.0) && !make_recipe(name, 2.5); }

  study::StudyConfig& config_;
  Mistakes& mistakes_;
  std::vector<ConditionalParam> conditional_;
};

}  // namespace

void read_space(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes) {
  SpaceReader(config, mistakes).read(node);
}

}  // namespace lanista::studyfile
