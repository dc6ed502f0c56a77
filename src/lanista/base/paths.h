#pragma once

#include <string>

namespace lanista {

/// The folder of `path`, by its name alone: "." for a bare name, "/" at the top.
inline std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace lanista
