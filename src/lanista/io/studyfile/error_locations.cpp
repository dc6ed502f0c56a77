#include <yaml-cpp/yaml.h>

#include <charconv>
#include <optional>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/yaml_guard.h"

namespace lanista::studyfile {
namespace {

/// The parts of a key: "model.base[0].x" gives "model", "base", "[0]", "x".
std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts(1);
  for (const char c : key) {
    if (c == '.' || c == '[') parts.emplace_back();
    if (c != '.') parts.back() += c;
  }
  std::erase(parts, "");  // "[0].x" begins with an empty part
  return parts;
}

/// The node one level down; an undefined node if there is none.
YAML::Node step(const YAML::Node& node, const std::string& part) {
  if (part.empty() || part.front() != '[')
    return node.IsMap() ? find_key(node, part) : YAML::Node(YAML::NodeType::Undefined);
  std::size_t index = 0;
  std::from_chars(part.data() + 1, part.data() + part.size(), index);
  // A single value acts as a list of one.
  if (!node.IsSequence()) return index == 0 ? node : YAML::Node(YAML::NodeType::Undefined);
  return index < node.size() ? node[index] : YAML::Node(YAML::NodeType::Undefined);
}

}  // namespace

YAML::Node find_node_at(const YAML::Node& root, const std::string& key) {
  YAML::Node node(root);
  for (const std::string& part : parts_of(key)) {
    const YAML::Node next = step(node, part);
    if (!next || !next.IsDefined()) break;
    node.reset(next);
  }
  return node;
}

namespace {

/// "file:line:column" of the node at `key` in a text; none if it has no position of its own.
std::optional<std::string> location_in(std::string_view text, const std::string& file, const std::string& key) {
  const std::string guarded = protect_calls(text);
  if (!guard_yaml(guarded, file)) return std::nullopt;
  const YAML::Node root = YAML::Load(guarded);
  const YAML::Node node = find_node_at(root, key);
  const YAML::Mark mark = node.Mark();
  if (node.is(root) || mark.is_null()) return std::nullopt;
  return file + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

}  // namespace

std::string location_in_study(std::string_view text, const std::string& file, const std::vector<Override>& overrides,
                              const std::string& key) {
  for (const Override& each : overrides) {
    if (key != each.key && !key.starts_with(each.key + ".") && !key.starts_with(each.key + "[")) continue;
    if (each.file.empty()) return "--set " + key;
    std::string rest = key.substr(each.key.size());
    if (rest.starts_with(".")) rest.erase(0, 1);
    return location_in(each.value, each.file, rest).value_or(each.file) + ": " + key;
  }
  const auto place = location_in(text, file, key);
  return place ? *place + ": " + key : key;
}

}  // namespace lanista::studyfile
