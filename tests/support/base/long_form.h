#pragma once

#include <cstdio>
#include <cstdlib>

namespace lanista {

/// True if the environment asks for the long form of a test: the variable `name` or `earlier_name` is set.
/// The earlier name causes one note on stderr, which gives the current one.
inline bool runs_long_form(const char* name, const char* earlier_name) {
  if (std::getenv(name) != nullptr) return true;
  if (std::getenv(earlier_name) == nullptr) return false;
  static const bool is_noted = std::fprintf(stderr, "note: %s is now %s; both work\n", earlier_name, name) > 0;
  static_cast<void>(is_noted);
  return true;
}

}  // namespace lanista
