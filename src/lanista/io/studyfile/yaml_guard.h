#pragma once

#include <string>
#include <string_view>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::studyfile {

/// Checks that a YAML text is within limits, before a parser builds nodes: UTF-8, at most 1 MiB, 20,000 line ends and
/// signs of structure, depth 32, 1,000 aliases, no tags, only texts as keys, no duplicate keys in a mapping, one
/// document. Errors: kInvalidArgument (a limit, or a syntax error); `where` is "file:line:column", or `file` for the
/// whole text.
Result<void> guard_yaml(std::string_view text, const std::string& file);

/// Reads a text for guard_yaml. A file above its limit is refused before it is read. Errors: kInvalidArgument (the
/// limit), those of FileSystem::read.
Result<std::string> read_yaml(FileSystem& fs, const std::string& path);

}  // namespace lanista::studyfile
