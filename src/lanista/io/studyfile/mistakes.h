#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

namespace lanista::studyfile {

/// The names with commas between them: "a, b, c".
std::string join(const std::vector<std::string>& names);

/// The names of a list of plug-ins.
template <class Plugins>
std::vector<std::string> plugin_names(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) names.push_back(plugin.name);
  return names;
}

/// The nodes of a YAML text that guard_yaml() accepts. Errors: kInvalidArgument with the position.
Result<YAML::Node> load_yaml(std::string_view text, const std::string& file);

/// The value of a key; an undefined node if there is none, or if `map` is no mapping.
YAML::Node find_key(const YAML::Node& map, const std::string& key);

/// The node of a key such as "model.base[0].x", or the last existing node on its path.
YAML::Node find_node_at(const YAML::Node& root, const std::string& key);

/// The mistakes in a study file, each with its position, and a bounded conversion of its nodes.
class Mistakes {
 public:
  /// `override_sources`: keys of overrides with the file that their values came from, or an empty text for --set.
  Mistakes(std::string file, std::map<std::string, std::string> override_sources)
      : file_(std::move(file)), override_sources_(std::move(override_sources)) {}

  /// "file:line:column", in the file that the key came from, or "--set key".
  std::string location_of(const YAML::Node& node, const std::string& path) const;
  /// Adds a mistake.
  void add(const YAML::Node& node, const std::string& path, const std::string& message);
  /// Adds an unknown key, with the section to which it belongs, the nearest known key or all of them. `other_sections`
  /// are the full names of equal keys in other sections ("run.seed"); with several the message does not choose one.
  void unknown(const YAML::Node& node, const std::string& path, const std::string& key,
               const std::vector<std::string>& known, const std::set<std::string>& other_sections = {});
  bool empty() const { return errors_.empty(); }
  std::string text() const;  ///< one line for each mistake

  /// The value of a node. Scalars are read by parse_value(); lists and maps keep their form.
  nlohmann::json to_json(const YAML::Node& node);

 private:
  std::string file_;
  std::map<std::string, std::string> override_sources_;  ///< file of each overridden key, or an empty text
  std::vector<std::string> errors_;
  int converted_ = 0;
};

}  // namespace lanista::studyfile
