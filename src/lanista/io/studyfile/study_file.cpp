#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/removed_options.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>

#include "lanista/base/edit_distance.h"
#include "lanista/io/data/augment.h"
#include "lanista/io/data/selector.h"
#include "lanista/io/studyfile/conditional_params.h"
#include "lanista/io/studyfile/default_study.h"
#include "lanista/io/studyfile/foreign_words.h"
#include "lanista/io/studyfile/goals_reader.h"
#include "lanista/io/studyfile/mistakes.h"
#include "lanista/io/studyfile/model_reader.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/plugin_reader.h"
#include "lanista/io/studyfile/rates_reader.h"
#include "lanista/io/studyfile/set_override.h"
#include "lanista/io/studyfile/space_reader.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/io/studyfile/tuning_reader.h"
#include "lanista/io/studyfile/yaml_guard.h"
#include "lanista/search/sampler/second_stage.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::studyfile {
namespace {

using nlohmann::json;

/// Keys at the top that are no section of settings, and keys of sections with readers of their own.
constexpr std::string_view kTopKeys[] = {"schema", "rules", "name", "space", "goal", "subject_to", "implied"};
constexpr std::pair<std::string_view, std::string_view> kExtraKeys[] = {
    {"data", "augment"}, {"model", "space"},  {"model", "frozen"},  {"train", "class_weights"},   {"train", "select"},
    {"train", "tune"},   {"train", "rates"},  {"strategy", "then"}, {"keep", "checkpoint_every"}, {"space", "mutate"},
    {"space", "repair"}, {"space", "params"}, {"space", "limits"}};

/// A key of old studies. It named the program that workers run on other hosts.
constexpr std::string_view kProgramKey = "cluster.program";

enum class Origin { kFile, kStored };

/// Reads the tree of one study file into a configuration and collects every mistake.
class Reader {
 public:
  Reader(YAML::Node root, std::string file, std::map<std::string, std::string> overridden, study::StudyConfig defaults,
         Origin origin)
      : root_(std::move(root)),
        mistakes_(std::move(file), overridden),
        overridden_(std::move(overridden)),
        config_(std::move(defaults)),
        origin_(origin) {
    // The data decide unless the file sets it; see resolve_from_data.
    config_.model.base = {"builtin:auto"};
    config_.goals.clear();
  }

  Result<study::StudyConfig> read() {
    if (!root_.IsMap()) {
      return Error{Code::kInvalidArgument,
                   "a study file is a mapping of sections, such as data: {source: builtin:digits}; of a table: lanista "
                   "run --set 'data.source=csv:FILE?target=COLUMN'",
                   mistakes_.location_of(root_, "")};
    }
    std::vector<std::string> keys(std::begin(kTopKeys), std::end(kTopKeys));
    for (const auto& section : sections_) keys.push_back(section.name);
    for (const auto& item : root_) {
      const auto key = item.first.as<std::string>();
      if (std::ranges::find(keys, key) == keys.end()) mistakes_.unknown(item.first, key, key, keys, full_keys(key));
    }
    for (const RemovedSetting& setting : take_removed_tuner_options(root_)) reject_removed(setting);
    if (const auto node = find_key(root_, "schema")) read_schema(node);
    if (const auto node = find_key(root_, "rules")) read_rules(node);
    if (const auto node = find_key(root_, "name")) read_name(node);
    for (const auto& section : sections_) {
      if (const auto node = find_key(root_, section.name)) read_section(section, node);
    }
    if (const auto node = find_key(root_, "goal")) read_goals(node, config_, mistakes_);
    if (const auto node = find_key(root_, "subject_to")) read_constraints(node, config_, mistakes_);
    if (const auto node = find_key(root_, "space")) read_space(node, config_, mistakes_);
    if (const auto node = find_key(root_, "implied")) read_implied(root_, node, config_, mistakes_);
    if (!find_key(root_, "name")) config_.name = default_study_name(config_.data.source);
    read_strategy_mltuner(root_, extra_nodes_["strategy"], config_, mistakes_);
    check_plugins();
    check_combinations();
    if (mistakes_.empty()) return config_;
    return Error{Code::kInvalidArgument, mistakes_.text(), ""};
  }

 private:
  void read_schema(const YAML::Node& node) {
    if (mistakes_.to_json(node) != json(1)) mistakes_.add(node, "schema", "only schema 1 is known to this version");
  }
  void read_rules(const YAML::Node& node) {
    const json value = mistakes_.to_json(node);
    if (value == json(study::kFirstRules) || value == json(study::kLatestRules)) {
      config_.data.rules = value.get<std::int64_t>();
    } else {
      mistakes_.add(node, "rules",
                    value.dump(-1, ' ', false, json::error_handler_t::replace) +
                        " is not known to this version; allowed are 1 (studies of version 0.1 and "
                        "before) and 2");
    }
  }
  void read_name(const YAML::Node& node) {
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    const auto good = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    };
    if (name.empty() || name.size() > 64 || name.front() == '.' || name.front() == '-' ||
        !std::ranges::all_of(name, good)) {
      return mistakes_.add(
          node, "name",
          "'" + name + "' is not allowed; 1 to 64 letters, digits, '-', '_' or '.', the first a letter, digit or '_'");
    }
    config_.name = name;
  }

  void read_section(const Section& section, const YAML::Node& node) {
    if (is_plugin_section(section.name) && node.IsScalar()) {  // only a name; check_plugins checks it
      (section.name == "stop" ? config_.stop.rule : config_.strategy.name) = node.Scalar();
      return;
    }
    if (!node.IsMap()) {
      const bool is_epoch = section.name == "keep" && node.IsScalar() &&
                            (node.Scalar() == study::kKeepBestEpoch || node.Scalar() == study::kKeepLast);
      return mistakes_.add(node, section.name,
                           "a mapping of settings is wanted here, such as " + section.name + ": {" +
                               section.fields.front().spec.name + ": …}" +
                               (is_epoch ? "; train.keep selects the epoch of a trial's result" : ""));
    }
    std::vector<std::string> known;
    for (const auto& field : section.fields) known.push_back(field.spec.name);
    if (section.name == "keep") known.emplace_back("checkpoint_every");
    if (section.name == "data") known.emplace_back("augment");
    if (section.name == "train") {
      known.emplace_back("class_weights");
      known.emplace_back("select");
      known.emplace_back("tune");
      known.emplace_back("rates");
    }
    if (section.name == "model") {
      known.emplace_back("space");
      known.emplace_back("frozen");
    }
    json extra = json::object();
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      const std::string path = section.name + "." + key;
      const auto field = std::ranges::find_if(
          section.fields, [&](const Field& f) { return f.spec.name == key || f.stored_name == key; });
      if (section.name == "train" && key == "schedule" && item.second.IsMap()) {
        read_schedule_source(item.second, path, config_, mistakes_);
      } else if (path == "data.batch" && item.second.IsScalar() && item.second.Scalar().starts_with(kAdaptiveCall)) {
        read_adaptive(item.second, path, config_, mistakes_);
      } else if (field != section.fields.end() && key != field->spec.name && find_key(node, field->spec.name)) {
        mistakes_.add(
            item.first, path,
            "is another name of " + section.name + "." + field->spec.name + ", which is given too; leave out " + path);
      } else if (field != section.fields.end()) {
        read_field(*field, item.second, path);
      } else if (section.name == "keep" && key == "checkpoint_every") {
        read_checkpoint_every(item.second, path);
      } else if (section.name == "data" && key == "augment") {
        // Whether they fit the samples is checked when the data are known: see resolve_from_data.
        read_plugins(item.second, path, data::builtin_augmentations(), config_.data.augment, mistakes_,
                     [](const auto&, const Options&) { return Result<void>(); });
      } else if (section.name == "train" && key == "class_weights") {
        // Whether the classes exist is checked when the data are known: see data::row_weights.
        auto weights = study::read_class_weights(mistakes_.to_json(item.second));
        if (!weights) {
          mistakes_.add(item.second, path, weights.error().message);
        } else {
          config_.data.class_weights = *std::move(weights);
        }
      } else if (section.name == "train" && key == "select") {
        read_select(item.second, path);
      } else if (section.name == "train" && key == "tune") {
        read_tune(item.second, path, config_, mistakes_);
      } else if (section.name == "train" && key == "rates") {
        read_rates(item.second, path, config_, mistakes_);
      } else if (section.name == "model" && key == "space") {
        read_model_space(item.second, path, config_, mistakes_);
      } else if (section.name == "model" && key == "frozen") {
        read_frozen(item.second, path, config_, mistakes_);
      } else if (section.name == "strategy" && key == "then") {
        read_then(item.second, path, config_, mistakes_);
      } else if (path == kProgramKey) {
        reject_cluster_program(item.first);
      } else if (section.name == "strategy" || section.name == "stop") {
        extra[key] = mistakes_.to_json(item.second);
        extra_nodes_[section.name].emplace(key, item.first);
      } else if (!removal_reason(path).empty()) {
        reject_removed({item.first, path, std::string(removal_reason(path))});
      } else {
        mistakes_.unknown(item.first, path, key, known, full_keys(key));
      }
    }
    if (section.name == "strategy") config_.strategy.options = extra;
    if (section.name == "stop") config_.stop.options = extra;
  }

  /// A study file may come from another person, so it names no program. Old stored studies have the key.
  void reject_cluster_program(const YAML::Node& node) {
    if (origin_ == Origin::kStored) {
      config_.ignored.emplace_back(kProgramKey);
      return;
    }
    mistakes_.add(node, std::string(kProgramKey),
                  "is not allowed in a study file, since it names a program to run; allowed is the option --program "
                  "PATH, or --program HOST=PATH, of lanista run and lanista resume");
  }

  /// A finished study with a removed setting can still be shown and used for prediction.
  void reject_removed(const RemovedSetting& setting) {
    if (origin_ == Origin::kFile) return mistakes_.add(setting.node, setting.key, setting.reason);
    if (!setting.is_idle) config_.removed.push_back(setting.key + " " + setting.reason);
  }

  void read_select(const YAML::Node& node, const std::string& path) {
    if (node.IsNull() || (node.IsScalar() && node.Scalar() == "none")) return;
    const YAML::Node name = node.IsMap() && node.size() == 1 ? node.begin()->first : node;
    const std::string reason(name.IsScalar() ? removal_reason(path + "." + name.Scalar()) : "");
    if (!reason.empty()) return reject_removed({name, path + "." + name.Scalar(), reason});
    std::vector<study::PluginConfig> read;
    read_plugin(
        node, path, data::builtin_selectors(), read, mistakes_,
        [](const data::SelectorPlugin&, const Options& options) { return data::check_selection_options(options); });
    if (!read.empty()) config_.train.select = std::move(read.front());
  }

  void read_field(const Field& field, const YAML::Node& node, const std::string& path) {
    json value = mistakes_.to_json(node);
    if (field.optional && (node.IsNull() || value == json("none"))) return field.set(config_, json());
    const bool is_number = field.spec.kind == OptionSpec::Kind::kInt || field.spec.kind == OptionSpec::Kind::kReal;
    if (is_number && value.is_string()) std::ranges::replace(value.get_ref<std::string&>(), ';', ',');
    if (field.spec.kind == OptionSpec::Kind::kTextList && value.is_string()) value = json::array({value});
    auto resolved = resolve_options({{field.spec.name, value}}, {field.spec});
    if (!resolved) return mistakes_.add(node, path, resolved.error().message + range_hint(field, node));
    const json& checked = (*resolved)[field.spec.name];
    if (path == "data.split") {
      double sum = 0;
      for (const auto& share : checked) sum += share.get<double>();
      if (checked.size() != 3 || std::abs(sum - 1.0) > 1e-9 || checked[0] == 0.0) return bad_split(node, checked);
    }
    field.set(config_, checked);
  }

  /// How to vary a setting that has a list or a range in place of its value, as the end of a message; else empty.
  std::string range_hint(const Field& field, const YAML::Node& node) {
    const auto& names = study::sample_names();
    if (std::ranges::find(names, field.spec.name) == names.end()) return "";
    const bool is_range = node.IsScalar() && parse_domain(node.Scalar()).has_value();
    if (!is_range && !node.IsSequence()) return "";
    std::string text =
        is_range ? node.Scalar() : mistakes_.to_json(node).dump(-1, ' ', false, json::error_handler_t::replace);
    if (is_range) std::ranges::replace(text, ';', ',');  // undoes protect_calls
    return "; to vary it, write space: {params: {" + field.spec.name + ": " + text + "}}";
  }

  void bad_split(const YAML::Node& node, const json& shares) {
    mistakes_.add(node, "data.split",
                  shares.dump(-1, ' ', false, json::error_handler_t::replace) +
                      " is not allowed; three shares that add up to 1, training and validation above 0");
  }

  void read_checkpoint_every(const YAML::Node& node, const std::string& path) {
    const auto seconds = parse_seconds(node.IsScalar() ? node.Scalar() : "");
    if (!seconds) return mistakes_.add(node, path, seconds.error().message);
    config_.keep.checkpoint_every = *seconds;
  }

  void check_plugins() {
    if (config_.strategy.name != kMltuner) {  // its mistakes are reported already
      check_plugin(search::builtin_strategies(), "strategy", "name", config_.strategy.name, config_.strategy.options,
                   {std::string(kMltuner)});
    }
    check_plugin(search::builtin_stopping_rules(), "stop", "rule", config_.stop.rule, config_.stop.options);
    const auto all = search::builtin_strategies();
    const auto plugin = std::ranges::find(all, config_.strategy.name, &search::StrategyPlugin::name);
    if (plugin == all.end()) return;
    const bool keeps = find_key(root_, "train") && find_key(find_key(root_, "train"), "keep");
    if (plugin->forks && !keeps) config_.train.measured.keep = study::kKeepLast;
    for (const auto& refusal : {search::own_halving_conflict(*plugin, config_), search::early_closing_conflict(config_),
                                search::repeated_space_conflict(config_), search::second_stage_conflict(config_)}) {
      if (refusal) mistakes_.add(find_node_at(root_, refusal->where), refusal->where, refusal->message);
    }
  }
  template <class Plugins>
  void check_plugin(const Plugins& plugins, const std::string& section, const std::string& key, const std::string& name,
                    json& options, const std::vector<std::string>& further = {}) {
    const auto section_node = find_key(root_, section);
    const auto node = section_node && section_node.IsMap() && find_key(section_node, key) ? find_key(section_node, key)
                      : section_node && section_node.IsScalar()                           ? section_node
                                                                                          : root_;
    const auto plugin = std::ranges::find(plugins, name, [](const auto& p) { return p.name; });
    if (plugin == plugins.end()) {
      std::vector<std::string> known = plugin_names(plugins);
      known.insert(known.end(), further.begin(), further.end());
      const std::string near = nearest_name(name, known);
      const bool is_set = mistakes_.location_of(node, section + "." + key).starts_with("--set");
      const std::string meant = foreign_word_hint(name, section, {}, is_set ? WordPlace::kSetOption : WordPlace::kFile);
      const std::string hint = !near.empty() ? "did you mean '" + near + "'?" : meant;
      return mistakes_.add(node, section + "." + key,
                           "'" + name + "' is not known; known: " + join(known) + (hint.empty() ? "" : "; " + hint));
    }
    auto resolved = resolve_options(options, plugin->options);
    if (resolved) {
      options = *resolved;
      return;
    }
    const auto& nodes = extra_nodes_[section];
    const auto culprit = nodes.find(resolved.error().where);
    const YAML::Node& at = culprit == nodes.end() ? node : culprit->second;
    const std::string option = resolved.error().where, path = section + "." + option;
    std::vector<std::string> known;
    for (const OptionSpec& each : plugin->options) known.push_back(each.name);
    const bool is_unknown = culprit != nodes.end() && std::ranges::find(known, option) == known.end();
    const auto is_set = [&](const YAML::Node& value, const std::string& full) {
      return mistakes_.location_of(value, full).starts_with("--set");
    };
    if (is_unknown && is_set(node, section + "." + key) && !is_set(at, path)) {
      // The user sees the option that chose the plug-in, and perhaps never saw the file.
      return mistakes_.add(node, section + "." + key,
                           "'" + name + "' has no option '" + option + "', which is set at " +
                               mistakes_.location_of(at, path) + "; write --set " + section + "=" + name +
                               " to replace the whole section");
    }
    const WordPlace place = is_set(at, path) ? WordPlace::kSetOption : WordPlace::kFile;
    std::string hint = is_unknown ? foreign_word_hint(option, path, known, place) : "";
    const bool has_options = is_unknown && (options[option].is_object() || options[option].is_null());
    if (has_options && std::ranges::find(plugins, option, [](const auto& p) { return p.name; }) != plugins.end()) {
      hint = "it is a value of " + section + "." + key + "; write " + section + ": {" + key + ": " + option + "}";
    }
    if (is_unknown && hint.empty() && (option == "name" || option == "rule")) hint = "it is " + section + "." + key;
    mistakes_.add(at, path,
                  hint.empty() ? resolved.error().message + other_plugin_text(plugins, *plugin, section, key, option)
                               : "unknown option '" + option + "'; " + hint);
  }
  /// For an option that other plug-ins have: which ones; else empty.
  template <class Plugins>
  static std::string other_plugin_text(const Plugins& plugins, const typename Plugins::value_type& own,
                                       const std::string& section, const std::string& key, const std::string& option) {
    const auto has_option = [&](const auto& plugin) {
      return std::ranges::find(plugin.options, option, &OptionSpec::name) != plugin.options.end();
    };
    std::vector<std::string> others;
    for (const auto& plugin : plugins) {
      if (has_option(plugin)) others.push_back(plugin.name);
    }
    if (has_option(own) || others.empty()) return "";
    return "; " + section + "." + key + " is " + own.name + ", and it is an option of " + join(others);
  }

  void check_combinations() {
    const auto& budget = config_.budget;
    if (!budget.trials && !budget.steps && !budget.guard_minutes) {
      mistakes_.add(find_key(root_, "budget"), "budget", "nothing ends this study; give trials, steps or minutes");
    }
    const auto model = find_key(root_, "model");
    if (!config_.model.space.is_null()) {
      const auto base = model && model.IsMap() ? find_key(model, "base") : YAML::Node(YAML::NodeType::Undefined);
      if (base && (base.IsScalar() || base.size() > 0)) {
        mistakes_.add(base, "model.base", "a study has base models or a space of models, not both");
      }
      config_.model.base.clear();
    } else if (config_.model.base.empty())
      mistakes_.add(find_key(root_, "model"), "model.base", "at least one base model is wanted");
    check_frozen(model, config_, mistakes_);
    check_rates(root_, config_, mistakes_);
    check_epochs();
    check_tune(root_, config_, mistakes_);
    check_tuned_settings("train.tune", config_.train.tune);
    if (config_.strategy.then) check_tuned_settings(std::string(study::kThenKey), config_.strategy.then->tune);
    // Folds replace a validation part.
    if (config_.data.split[1] == 0 && !config_.data.folds) {
      bad_split(find_key(find_key(root_, "data"), "split"), json(config_.data.split));
    }
  }

  void check_tuned_settings(const std::string& key, const study::PluginConfig& tune) {
    const auto idle = idle_tuned_setting(config_, tune);
    if (!idle) return;
    const std::string path = key + "." + tune.name + "." + idle->where;
    mistakes_.add(find_node_at(root_, path), path, idle->message);
  }

  // The number of epochs of a budget in steps is known here, or else when the data are: see resolve_from_data.
  void check_epochs() {
    if (!config_.train.length.steps) return;
    const YAML::Node train = find_key(root_, "train");
    if (const YAML::Node epochs = find_key(train, "epochs")) {
      mistakes_.add(epochs, "train.epochs", "a trial's budget is in epochs or in steps (train.steps), not both");
    }
    if (auto settled = study::resolve_epochs(config_.train); !settled) {
      mistakes_.add(find_key(train, "steps"), settled.error().where, settled.error().message);
    }
  }

  YAML::Node root_;
  Mistakes mistakes_;
  const std::map<std::string, std::string> overridden_;
  const std::vector<Section> sections_ = study_sections();
  study::StudyConfig config_;
  const Origin origin_;
  std::map<std::string, std::map<std::string, YAML::Node>> extra_nodes_;
};

Result<study::StudyConfig> read_with_defaults(std::string_view text, const std::string& file,
                                              const std::vector<Override>& overrides,
                                              const study::StudyConfig& defaults, Origin origin) {
  const std::string protected_text = protect_calls(text);
  LANISTA_TRY(guard_yaml(protected_text, file));
  try {
    YAML::Node root = YAML::Load(protected_text);
    if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
    std::map<std::string, std::string> overridden;
    for (const auto& override : overrides) {
      LANISTA_TRY(set_override(root, override));
      overridden[override.key] = override.file;
    }
    if (text == default_study()) fit_default_study(root, overridden);
    return Reader(root, file, overridden, defaults, origin).read();
  } catch (const YAML::Exception& e) {
    return Error{Code::kInvalidArgument, e.msg,
                 file + ":" + std::to_string(e.mark.line + 1) + ":" + std::to_string(e.mark.column + 1)};
  }
}

}  // namespace

std::set<std::string> full_keys(const std::string& key) {
  std::set<std::string> out;
  if (std::ranges::find(kTopKeys, key) != std::end(kTopKeys)) out.insert(key);
  for (const Section& section : study_sections()) {
    const auto is_key = [&](const Field& field) { return field.spec.name == key || field.stored_name == key; };
    if (std::ranges::any_of(section.fields, is_key)) out.insert(section.name + "." + key);
  }
  for (const auto& [section, name] : kExtraKeys) {
    if (name == key) out.insert(std::string(section) + "." + key);
  }
  const auto is_option = [&](const auto& plugin) {
    return std::ranges::any_of(plugin.options, [&](const OptionSpec& option) { return option.name == key; });
  };
  if (std::ranges::any_of(search::builtin_strategies(), is_option)) out.insert("strategy." + key);
  if (std::ranges::any_of(search::builtin_stopping_rules(), is_option)) out.insert("stop." + key);
  return out;
}

Result<study::StudyConfig> read_study(std::string_view text, const std::string& file,
                                      const std::vector<Override>& overrides) {
  return read_with_defaults(text, file, overrides, {}, Origin::kFile);
}

Result<study::StudyConfig> read_stored_study(std::string_view text, const std::string& file) {
  study::StudyConfig defaults;
  defaults.data.rules = study::kFirstRules;
  defaults.train.measured.keep = study::kKeepLast;
  defaults.train.measured.ties = study::kTiesToEarlier;
  return read_with_defaults(text, file, {}, defaults, Origin::kStored);
}

}  // namespace lanista::studyfile
