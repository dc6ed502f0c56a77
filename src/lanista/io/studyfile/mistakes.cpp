#include "lanista/io/studyfile/mistakes.h"

#include <algorithm>

#include "lanista/base/printable.h"
#include "lanista/io/studyfile/foreign_words.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/yaml_guard.h"

namespace lanista::studyfile {

using nlohmann::json;

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& word : names) out += (out.empty() ? "" : ", ") + word;
  return out;
}

Result<YAML::Node> load_yaml(std::string_view text, const std::string& file) {
  LANISTA_TRY(guard_yaml(text, file));
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& e) {
    return Error{Code::kInvalidArgument, e.msg,
                 file + ":" + std::to_string(e.mark.line + 1) + ":" + std::to_string(e.mark.column + 1)};
  }
}

YAML::Node find_key(const YAML::Node& map, const std::string& key) {
  if (!map.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  for (const auto& item : map) {
    if (item.first.IsScalar() && item.first.Scalar() == key) return item.second;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

std::string Mistakes::location_of(const YAML::Node& node, const std::string& path) const {
  const std::string* file = &file_;
  for (std::string at = path; !at.empty();) {
    if (const auto found = override_sources_.find(at); found != override_sources_.end()) {
      if (found->second.empty()) return "--set " + at;
      file = &found->second;
      break;
    }
    const auto end = at.find_last_of(".[");
    at = end == std::string::npos ? "" : at.substr(0, end);
  }
  const auto mark = node.Mark();
  if (mark.is_null()) return *file;
  return *file + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}
void Mistakes::add(const YAML::Node& node, const std::string& path, const std::string& message) {
  // One line for each: a text of the file must not look like a mistake of its own.
  std::string text = printable(location_of(node, path) + ": " + path + ": " + message);
  // An alias occurs in several positions and is wrong once.
  if (std::find(errors_.begin(), errors_.end(), text) == errors_.end()) errors_.push_back(std::move(text));
}
void Mistakes::unknown(const YAML::Node& node, const std::string& path, const std::string& key,
                       const std::vector<std::string>& known, const std::set<std::string>& other_sections) {
  const bool is_set = location_of(node, path).starts_with("--set");
  const std::string hint =
      unknown_key_hint(key, path, known, other_sections, is_set ? WordPlace::kSetOption : WordPlace::kFile);
  add(node, path, "unknown key '" + key + "'" + (hint.starts_with("it is") ? " here; " : "; ") + hint);
}

std::string Mistakes::text() const {
  std::string all;
  for (const auto& error : errors_) all += (all.empty() ? "" : "\n") + error;
  return all;
}

json Mistakes::to_json(const YAML::Node& node) {
  // The limit stops an explosion of aliases.
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

}  // namespace lanista::studyfile
