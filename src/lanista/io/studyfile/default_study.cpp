#include "lanista/io/studyfile/default_study.h"

#include <algorithm>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/io/studyfile/mistakes.h"
#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::studyfile {
namespace {

using Overridden = std::map<std::string, std::string>;

bool sets_any(const Overridden& overridden, const std::string& section) {
  return std::ranges::any_of(
      overridden, [&](const auto& each) { return each.first == section || each.first.starts_with(section + "."); });
}

/// The value of section `name`, or of its key `key`, as text; empty: it is neither.
std::string plugin_name(const YAML::Node& root, const std::string& name, const std::string& key) {
  const YAML::Node section = find_key(root, name);
  const YAML::Node value = section && section.IsMap() ? find_key(section, key) : section;
  return value && value.IsScalar() ? value.Scalar() : "";
}

/// Removes the options of a section that are not in `options`, no plain settings, and not set by the user.
void keep_options(YAML::Node section, const std::string& name, const std::vector<OptionSpec>& options,
                  const Overridden& overridden) {
  if (!section || !section.IsMap()) return;
  std::vector<std::string> known;
  for (const OptionSpec& option : options) known.push_back(option.name);
  for (const Section& each : study_sections()) {
    if (each.name != name) continue;
    for (const Field& field : each.fields) known.push_back(field.spec.name);
  }
  std::vector<std::string> foreign;
  for (const auto& item : section) {
    const std::string& key = item.first.Scalar();
    if (std::ranges::find(known, key) == known.end() && !overridden.contains(name + "." + key)) foreign.push_back(key);
  }
  for (const std::string& key : foreign) section.remove(key);
}

/// Removes the rungs that trials with the user's epochs do not reach, and the rule if none is left.
void keep_reached_rungs(YAML::Node& root) {
  const YAML::Node epochs = find_key(find_key(root, "train"), "epochs");
  const YAML::Node rungs = find_key(find_key(root, "stop"), "rungs");
  std::int64_t last = 0, first = 0;
  if (!epochs || !rungs || rungs.size() == 0 || !YAML::convert<std::int64_t>::decode(epochs, last)) return;
  if (YAML::convert<std::int64_t>::decode(rungs[0], first) && first >= last) root.remove("stop");
}

}  // namespace

void fit_default_study(YAML::Node& root, const Overridden& overridden) {
  if (!root.IsMap()) return;
  if (sets_any(overridden, "train.steps") && !sets_any(overridden, "train.epochs")) root["train"].remove("epochs");
  const bool sets_stop = sets_any(overridden, "stop");
  if (overridden.contains("strategy") || overridden.contains("strategy.name")) {
    const auto all = search::builtin_strategies();
    if (plugin_name(root, "strategy", "name") == kMltuner) {
      keep_options(find_key(root, "strategy"), "strategy", mltuner_strategy_options(), overridden);
      if (!sets_stop) root.remove("stop");
      if (!sets_any(overridden, "space.mutate") && !overridden.contains("space")) root["space"].remove("mutate");
      if (!sets_any(overridden, "train.schedule")) root["train"].remove("schedule");
    }
    const auto plugin = std::ranges::find(all, plugin_name(root, "strategy", "name"), &search::StrategyPlugin::name);
    if (plugin != all.end()) {
      keep_options(find_key(root, "strategy"), "strategy", plugin->options, overridden);
      if (plugin->has_own_halving && !sets_stop) root.remove("stop");
    }
  }
  if (overridden.contains("stop.rule")) {
    const auto all = search::builtin_stopping_rules();
    const auto plugin = std::ranges::find(all, plugin_name(root, "stop", "rule"), &search::StoppingPlugin::name);
    if (plugin != all.end()) keep_options(find_key(root, "stop"), "stop", plugin->options, overridden);
  }
  if (!sets_stop) keep_reached_rungs(root);
}

}  // namespace lanista::studyfile
