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

/// The name of each plug-in of a list, in order.
template <class Plugins>
std::vector<std::string> plugin_names(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) names.push_back(plugin.name);
  return names;
}

/// The root node of a YAML text, without protect_calls(); `file` is its name in errors. Errors: kInvalidArgument
/// (guard_yaml() or the parser refuse it); `where` is "file:line:column".
Result<YAML::Node> load_yaml(std::string_view text, const std::string& file);

/// The value of `key` in the mapping `map`; an undefined node if the key is absent or `map` is no mapping.
YAML::Node find_key(const YAML::Node& map, const std::string& key);

/// The node at a full key such as "model.base[0].x", or the last existing node on the way to it, at least `root`. Index
/// 0 of a value that is no list is that value.
YAML::Node find_node_at(const YAML::Node& root, const std::string& key);

/// Collects the mistakes in a study file, each with its position. It also converts YAML nodes to JSON. After 100,000
/// nodes in all calls together it gives null for every further node, without a mistake.
class Mistakes {
 public:
  /// No mistakes yet. `file` is the name of the study file in messages. `override_sources` has, for each overridden key
  /// ("train.epochs"), the name of the file that gives its value, or an empty text for --set; location_of() names it.
  Mistakes(std::string file, std::map<std::string, std::string> override_sources)
      : file_(std::move(file)), override_sources_(std::move(override_sources)) {}

  /// The location of `node`, the value at the full key `path`, for messages. It is "file:line:column" in the file that
  /// has the value, or "--set KEY" with the key of the override. Without a position it is the file alone.
  std::string location_of(const YAML::Node& node, const std::string& path) const;
  /// Adds a mistake at `node`, the value at the full key `path`. An equal mistake is added once.
  void add(const YAML::Node& node, const std::string& path, const std::string& message);
  /// Adds the mistake that `key` is not in `known`, with what unknown_key_hint() advises. `other_sections` has the full
  /// names of equal keys in other sections ("run.seed"); with several the message does not choose one.
  void unknown(const YAML::Node& node, const std::string& path, const std::string& key,
               const std::vector<std::string>& known, const std::set<std::string>& other_sections = {});
  bool empty() const { return errors_.empty(); }
  std::string text() const;  ///< a printable line "LOCATION: KEY: MESSAGE" for each mistake, in order

  /// The value of a node as JSON. Quoted scalars are texts, others are read by parse_value(); an empty node is null.
  /// After 100,000 converted nodes the result is null.
  nlohmann::json to_json(const YAML::Node& node);

 private:
  std::string file_;
  std::map<std::string, std::string> override_sources_;  ///< file of each overridden key, or an empty text
  std::vector<std::string> errors_;
  int converted_ = 0;
};

}  // namespace lanista::studyfile
