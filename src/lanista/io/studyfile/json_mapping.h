#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

// Readers of mappings. Their errors have the key in `where` ("layers[2].choice.of[0]").
namespace lanista::studyfile {

/// The error of an invalid value at a key.
inline Error value_error(const std::string& path, const std::string& message) {
  return {Code::kInvalidArgument, message, path};
}
/// A value in the notation of the file, for messages.
std::string quote_value(const nlohmann::json& value);
/// The key of a member: "path.key".
std::string join_path(const std::string& path, const std::string& key);

/// Checks that a value is a mapping with known keys. Errors: kInvalidArgument with the nearest known key.
Result<void> check_keys(const nlohmann::json& map, const std::string& path, const std::vector<std::string>& known);

/// A member, or `fallback` if it is absent. Errors: kInvalidArgument if it has another kind.
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

/// A text, which must be present. Errors: kInvalidArgument.
Result<std::string> text(const nlohmann::json& map, const std::string& key, const std::string& path);
/// A list of texts, or one text as a list; empty if absent. Errors: kInvalidArgument.
Result<std::vector<std::string>> read_text_list(const nlohmann::json& map, const std::string& key,
                                                const std::string& path);

}  // namespace lanista::studyfile
