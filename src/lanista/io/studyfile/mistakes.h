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

/// "a, b, c".
std::string join(const std::vector<std::string>& names);

/// Names of a list of plug-ins.
template <class Plugins>
std::vector<std::string> plugin_names(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) names.push_back(plugin.name);
  return names;
}

/// The nodes of a YAML text that guard_yaml lets through. Errors: kInvalidArgument with its place.
Result<YAML::Node> load_yaml(std::string_view text, const std::string& file);

/// The value of a key, or an undefined node, also of what is no mapping.
YAML::Node find_key(const YAML::Node& map, const std::string& key);

/// What stands under a key such as "model.base[0].x", or the last node on the way that is there.
YAML::Node find_node_at(const YAML::Node& root, const std::string& key);

/// What is wrong with a study file, each mistake with its place; and the conversion of its nodes, which is bounded.
class Mistakes {
 public:
  /// `override_sources`: keys that came from --set and are named so, or the files that they came from.
  Mistakes(std::string file, std::map<std::string, std::string> override_sources)
      : file_(std::move(file)), override_sources_(std::move(override_sources)) {}

  /// "file:line:column", in the file that the key came from, or "--set key".
  std::string location_of(const YAML::Node& node, const std::string& path) const;
  void add(const YAML::Node& node, const std::string& path, const std::string& message);
  /// An unknown key, with the place where it belongs, the nearest known one or all of them. `other_sections`: the full names
  /// of the keys that are called so in other sections ("run.seed"); with several nobody knows which is meant.
  void unknown(const YAML::Node& node, const std::string& path, const std::string& key,
               const std::vector<std::string>& known, const std::set<std::string>& other_sections = {});
  bool empty() const { return errors_.empty(); }
  std::string text() const;  ///< one line a mistake

  /// Scalars as the study file means them; lists and maps keep their form.
  nlohmann::json to_json(const YAML::Node& node);

 private:
  std::string file_;
  std::map<std::string, std::string> override_sources_;  ///< by key the file, if not the command line
  std::vector<std::string> errors_;
  int converted_ = 0;
};

}  // namespace lanista::studyfile
