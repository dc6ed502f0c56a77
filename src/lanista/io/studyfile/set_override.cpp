#include "lanista/io/studyfile/set_override.h"

#include <string>
#include <vector>

#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/plain_settings.h"
#include "lanista/io/studyfile/yaml_guard.h"

namespace lanista::studyfile {
namespace {

/// The other names of a setting with two names, without its section.
std::vector<std::string> other_names_of(const std::string& full) {
  std::vector<std::string> out;
  for (const Section& section : study_sections()) {
    for (const Field& field : section.fields) {
      if (field.stored_name.empty()) continue;
      if (full == section.name + "." + field.spec.name) out.push_back(field.stored_name);
      if (full == section.name + "." + field.stored_name) out.push_back(field.spec.name);
    }
  }
  return out;
}

}  // namespace

bool is_plugin_section(std::string_view name) { return name == "strategy" || name == "stop"; }

Result<void> set_override(YAML::Node root, const Override& override) {
  const std::string where = override.file.empty() ? "--set " + override.key : override.file;
  const std::string value = protect_calls(override.value);
  LANISTA_TRY(guard_yaml(value, where));
  std::string rest = override.key;
  YAML::Node at = root;
  while (true) {
    const auto dot = rest.find('.');
    const std::string key = rest.substr(0, dot);
    if (key.empty()) return Error{Code::kInvalidArgument, "a key such as train.epochs is wanted", where};
    if (const std::string section = override.key.substr(0, override.key.find('.'));
        is_plugin_section(section) && at.IsScalar()) {  // only a name
      YAML::Node whole(YAML::NodeType::Map);
      whole[section == "stop" ? "rule" : "name"] = at.Scalar();
      root[section] = whole;
      at.reset(whole);
    }
    if (!at.IsMap() && !at.IsNull() && at.IsDefined()) {
      return Error{Code::kInvalidArgument, "'" + key + "' cannot be set inside a value that is not a mapping", where};
    }
    if (dot == std::string::npos) {
      for (const std::string& other : other_names_of(override.key)) at.remove(other);
      at[key] = YAML::Load(value);
      return {};
    }
    at.reset(at[key]);
    rest = rest.substr(dot + 1);
  }
}

}  // namespace lanista::studyfile
