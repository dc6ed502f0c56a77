#pragma once

#include <string>

namespace lanista {

/// Returns the folder part of `path`, from the text alone: "." for a name without "/", "/" at the top.
inline std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace lanista
