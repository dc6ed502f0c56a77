#pragma once

#include <string_view>

#include <yaml-cpp/yaml.h>

#include "lanista/base/result.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::studyfile {

/// Whether a section is short for its first key: "stop: asha" is "stop: {rule: asha}".
bool is_plugin_section(std::string_view name);

/// Sets a key in the tree of a study file. A section that is only the name of a plug-in becomes a mapping, and the
/// other name of a setting with two names is removed. Errors: kInvalidArgument (no key, a value outside of
/// guard_yaml(), a key below a value that is no mapping); `where` is "--set KEY", or the file of the override.
Result<void> set_override(YAML::Node root, const Override& override);

}  // namespace lanista::studyfile
