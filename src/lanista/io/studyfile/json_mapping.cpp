#include "lanista/io/studyfile/json_mapping.h"

#include <algorithm>

#include "lanista/io/studyfile/foreign_words.h"

namespace lanista::studyfile {

using nlohmann::json;

std::string quote_value(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string join_path(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

Result<void> check_keys(const json& map, const std::string& path, const std::vector<std::string>& known) {
  if (!map.is_object()) return value_error(path, "a mapping is wanted here, not " + quote_value(map));
  for (const auto& [key, value] : map.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string full = join_path(path, key);
    return value_error(full, "unknown key '" + key + "'; " + unknown_key_hint(key, full, known, {}, WordPlace::kFile));
  }
  return {};
}

Result<std::string> text(const json& map, const std::string& key, const std::string& path) {
  if (!map.contains(key)) return value_error(path, "'" + key + "' is missing");
  return member<std::string>(map, key, path, "");
}
Result<std::vector<std::string>> read_text_list(const json& map, const std::string& key, const std::string& path) {
  std::vector<std::string> out;
  const auto it = map.find(key);
  if (it == map.end()) return out;
  if (it->is_string()) return std::vector<std::string>{it->get<std::string>()};
  if (!it->is_array()) return value_error(join_path(path, key), "a list of names is wanted, not " + quote_value(*it));
  for (const json& item : *it) {
    if (!item.is_string()) return value_error(join_path(path, key), quote_value(item) + " is not a name");
    out.push_back(item.get<std::string>());
  }
  return out;
}

}  // namespace lanista::studyfile
