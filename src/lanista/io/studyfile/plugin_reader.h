#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// Appends the plug-in `name`, with the options `given` and defaults for the others, to `out`. `plugins` are the
/// allowed ones. An unknown name and invalid options are added to `mistakes`, at `node` and the full key "path.name".
/// `check` (plug-in, options) -> Result<void> may refuse options that fit their schema.
template <class Plugin, class Check>
void add_plugin(const YAML::Node& node, const std::string& path, const std::string& name, const nlohmann::json& given,
                const std::vector<Plugin>& plugins, std::vector<study::PluginConfig>& out, Mistakes& mistakes,
                Check check) {
  const auto text_of = [](const Error& error) {
    return (error.where.empty() ? "" : error.where + ": ") + error.message;
  };
  const std::string inner = path + "." + name;
  const auto plugin = std::ranges::find(plugins, name, &Plugin::name);
  if (plugin == plugins.end()) return mistakes.unknown(node, inner, name, plugin_names(plugins));
  auto options = resolve_options(given, plugin->options);
  if (!options) return mistakes.add(node, inner, text_of(options.error()));
  if (const Result<void> good = check(*plugin, *options); !good) {
    return mistakes.add(node, inner, text_of(good.error()));
  }
  out.push_back({name, *std::move(options)});
}

/// Reads `node`, the value at `path`, as one plug-in: a name, or a map of one entry from name to options. Appends it to
/// `out`, or adds a mistake.
template <class Plugin, class Check>
void read_plugin(const YAML::Node& node, const std::string& path, const std::vector<Plugin>& plugins,
                 std::vector<study::PluginConfig>& out, Mistakes& mistakes, Check check) {
  const auto add = [&](const YAML::Node& at, const std::string& name, const nlohmann::json& given) {
    add_plugin(at, path, name, given, plugins, out, mistakes, check);
  };
  if (node.IsScalar()) {
    add(node, node.Scalar(), nlohmann::json::object());
  } else if (node.IsMap() && node.size() == 1) {
    const auto entry = *node.begin();
    add(entry.first, entry.first.as<std::string>(),
        entry.second.IsNull() ? nlohmann::json::object() : mistakes.to_json(entry.second));
  } else {
    mistakes.add(node, path, "a name is wanted, or 'name: {options}'; known: " + join(plugin_names(plugins)));
  }
}

/// Reads `node`, the value at `path`, as a list of plug-ins, each as read_plugin() does.
template <class Plugin, class Check>
void read_plugins(const YAML::Node& node, const std::string& path, const std::vector<Plugin>& plugins,
                  std::vector<study::PluginConfig>& out, Mistakes& mistakes, Check check) {
  if (!node.IsSequence()) return mistakes.add(node, path, "a list is wanted, of: " + join(plugin_names(plugins)));
  for (const auto& item : node) read_plugin(item, path, plugins, out, mistakes, check);
}

}  // namespace lanista::studyfile
