#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::studyfile {

/// Checks a YAML text before it is built into nodes: UTF-8, at most 1 MB, 20,000 line ends and signs of structure,
/// depth 32, 1,000 aliases, no tags, no duplicate keys of one mapping, one document. Errors: kInvalidArgument, `where`
/// = "file:line:column".
Result<void> guard_yaml(std::string_view text, const std::string& file);

}  // namespace lanista::studyfile
