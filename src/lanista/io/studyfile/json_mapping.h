#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

// Readers of JSON objects from YAML mappings. Their errors have the key in `where` ("layers[2].choice.of[0]").
namespace lanista::studyfile {

/// An error with code kInvalidArgument and the key `path` as `where`.
inline Error value_error(const std::string& path, const std::string& message) {
  return {Code::kInvalidArgument, message, path};
}
/// A value as JSON text in one line, for messages; invalid UTF-8 is replaced.
std::string quote_value(const nlohmann::json& value);
/// The full key of a member: "path.key", or `key` if `path` is empty.
std::string join_path(const std::string& path, const std::string& key);

/// Checks that `map`, the value at `path`, is an object with keys of `known` only. Errors: kInvalidArgument (another
/// kind of value; an unknown key, with the nearest known one).
Result<void> check_keys(const nlohmann::json& map, const std::string& path, const std::vector<std::string>& known);

/// The member `key` of `map`, the object at `path`, as a bool, int64 or text; `fallback` if it is absent. Errors:
/// kInvalidArgument (another kind of value).
template <class T>
Result<T> member(const nlohmann::json& map, const std::string& key, const std::string& path, T fallback) {
  const auto it = map.find(key);
  if (it == map.end()) return fallback;
  bool fits = false;
  const char* expected_kind = "a text";
  if constexpr (std::is_same_v<T, bool>) {
    fits = it->is_boolean();
    expected_kind = "true or false";
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    fits = it->is_number_integer();
    expected_kind = "a whole number";
  } else {
    fits = it->is_string();
  }
  if (!fits) return value_error(join_path(path, key), quote_value(*it) + " is not " + expected_kind);
  return it->template get<T>();
}

/// The text member `key` of `map`, the object at `path`. Errors: kInvalidArgument (absent, with `path` as `where`; or
/// another kind of value).
Result<std::string> text(const nlohmann::json& map, const std::string& key, const std::string& path);
/// The member `key` of `map` as a list of texts: one text gives a list of one, an absent member an empty list. Errors:
/// kInvalidArgument (another kind of value).
Result<std::vector<std::string>> read_text_list(const nlohmann::json& map, const std::string& key,
                                                const std::string& path);

}  // namespace lanista::studyfile
