#include "reference/keys.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "lanista/io/studyfile/study_schema.h"
#include "reference/markdown.h"

namespace lanista::reference {
namespace {

using nlohmann::json;

/// Families of plug-ins: the keys below them are names of plug-ins, with their options below.
const std::vector<std::string> kFamilies{"data.augment", "space.mutate", "train.select", "train.tune"};

bool is_none(const json& node) { return node == json{{"const", "none"}} || node == json{{"type", "null"}}; }

/// Returns the alternatives of a node, without "none" and null.
std::vector<json> alternatives(const json& node) {
  std::vector<json> out;
  for (const json& each : node.value("anyOf", json::array())) {
    if (!is_none(each)) out.push_back(each);
  }
  return out;
}

std::string joined(const std::vector<std::string>& parts, const std::string& mark) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : mark) + part;
  return out;
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

std::string word_of(const std::string& type) {
  static const std::map<std::string, std::string> words{{"string", "text"},    {"integer", "whole number"},
                                                        {"number", "number"},  {"boolean", "true or false"},
                                                        {"object", "mapping"}, {"null", ""}};
  return words.at(type);
}

std::string plural(std::string type) {
  for (const char* word : {"whole number", "number", "text", "word", "mapping"}) {
    const std::string name = word;
    if (type == name) return name + "s";
    const auto at = type.find(name + " or ");
    if (at == 0) return name + "s or " + plural(type.substr(name.size() + 4));
  }
  return type;
}

std::string type_of(const json& node) {
  if (node.contains("enum")) return "word";
  if (node.contains("const")) return node["const"].is_string() ? "word" : "whole number";
  if (node.contains("anyOf")) {
    std::vector<std::string> parts;
    for (const json& each : alternatives(node)) add_once(parts, type_of(each));
    return joined(parts, " or ");
  }
  if (!node.contains("type")) return "value";
  if (node["type"] == "array") return "list of " + plural(type_of(node.value("items", json::object())));
  if (!node["type"].is_array()) return word_of(node["type"]);
  std::vector<std::string> parts;
  for (const json& each : node["type"]) add_once(parts, word_of(each));
  return joined(parts, " or ");
}

std::string range_of(const json& node) {
  const bool has_min = node.contains("minimum"), has_max = node.contains("maximum");
  const std::string min = has_min ? number_text(node["minimum"]) : "",
                    max = has_max ? number_text(node["maximum"]) : "";
  if (node.contains("exclusiveMinimum")) {
    return "above " + number_text(node["exclusiveMinimum"]) + (has_max ? ", at most " + max : "");
  }
  if (has_min && has_max) return min + " to " + max;
  return has_min ? min + " or more" : has_max ? "at most " + max : "any number";
}

std::string allowed_of(const json& node);

std::string allowed_mapping(const json& node) {
  if (node.contains("properties") && !node["properties"].empty()) return "the keys below";
  if (node.value("additionalProperties", json()).is_object())
    return "names with " + allowed_of(node["additionalProperties"]);
  return "a mapping";
}

std::string allowed_of(const json& node) {
  std::vector<std::string> parts;
  if (node.contains("enum")) {
    for (const json& each : node["enum"]) add_once(parts, code(value_text(each)));
  } else if (node.contains("const")) {
    parts.push_back(code(value_text(node["const"])));
  } else if (node.contains("anyOf")) {
    for (const json& each : alternatives(node)) {
      if (each.contains("properties") && each["properties"].size() == 1) continue;  // a plug-in with options
      add_once(parts, allowed_of(each));
    }
  } else if (node.value("type", json()) == "array") {
    parts.push_back(allowed_of(node.value("items", json::object())));
  } else if (node.value("type", json()) == "boolean") {
    parts = {code("true"), code("false")};
  } else if (node.value("type", json()) == "object") {
    parts.push_back(allowed_mapping(node));
  } else if (node.value("type", json()) == "string") {
    parts.emplace_back("any text");
  } else if (node.contains("type") && !node["type"].is_array()) {
    parts.push_back(range_of(node));
  } else {
    parts.emplace_back("any value");
  }
  if (node.contains("default") && node["default"].is_null()) add_once(parts, code("none"));
  return joined(parts, ", ");
}

std::string default_of(const json& node) {
  if (!node.contains("default")) return "";
  const json& value = node["default"];
  if (value.is_null()) return code("none");
  if (value == json("") || (value.is_array() && value.empty()) || (value.is_object() && value.empty())) return "empty";
  return code(value_text(value));
}

/// Returns the last part of a path.
std::string name_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }
std::string parent_of(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// Returns whether a value is empty, and so no example.
bool is_empty(const json& value) {
  return value.is_null() || value == json("") || ((value.is_array() || value.is_object()) && value.empty());
}

std::string filled(const std::string& form, const std::string& plugin, const std::string& name, const json& value) {
  return replaced(replaced(replaced(form, "PLUGIN", plugin), "KEY", name), "VALUE", value_text(value));
}

/// Returns the example of a key: its own, else that of the keys around it with the default as its value.
std::string example_of(const std::string& path, const json& value, const std::map<std::string, KeyNotes>& notes) {
  if (const auto own = notes.find(path); own != notes.end()) return own->second.example;
  for (std::string above = parent_of(path); !above.empty() && !is_empty(value); above = parent_of(above)) {
    const auto all = notes.find(above + ".*");
    if (all == notes.end()) continue;
    const std::string rest = path.substr(above.size() + 1);
    return filled(all->second.example, rest.substr(0, rest.find('.')), name_of(path), value);
  }
  return "";
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

void apply(const std::map<std::string, KeyNotes>& notes, const std::string& path, Key& key) {
  const auto own = notes.find(path);
  if (own == notes.end()) return;
  if (!own->second.default_value.empty()) key.default_value = own->second.default_value;
  if (!own->second.allowed.empty()) key.allowed = own->second.allowed;
}

/// Calls `visit(path, node, required)` for each property below a node.
template <class Visit>
void walk(const json& node, const std::string& path, const Visit& visit) {
  if (!node.is_object()) return;
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  const json required = node.value("required", json::array());
  const json properties = node.value("properties", json::object());
  for (const auto& [name, value] : properties.items()) {
    if (value.is_object() && value.value("deprecated", false)) continue;  // an older name
    visit(below(name), value, std::ranges::find(required, json(name)) != required.end());
    walk(value, below(name), visit);
  }
  for (const json& each : node.value("anyOf", json::array())) walk(each, path, visit);
  if (node.contains("items")) walk(node["items"], path, visit);
  if (node.contains("additionalProperties")) walk(node["additionalProperties"], path, visit);
  if (!node.contains("propertyNames")) return;
  for (const json& name : node["propertyNames"].value("enum", json::array())) {
    visit(below(name.get<std::string>()), json::object(), false);
  }
}

/// Returns whether a path is an option of a strategy or a stopping rule. Only fields of the section itself have notes.
bool is_plugin_option(const std::string& path, const std::map<std::string, KeyNotes>& notes) {
  const std::string section = parent_of(path);
  return (section == "strategy" || section == "stop") && !notes.contains(path);
}

/// Returns the key of a hyper-parameter of the space, with the range and the meaning of the setting that it varies.
Key varied_key(const std::string& path, const json& schema, const std::map<std::string, KeyNotes>& notes) {
  const std::string name = name_of(path);
  const std::string section = name == "batch" ? "data" : "train";
  const json& setting = schema["properties"][section]["properties"][name];
  Key key{path,
          "value, list or range",
          "that of " + code(section + "." + name),
          allowed_of(setting),
          setting.value("description", ""),
          ""};
  key.example = example_of(path, json(), notes);
  apply(notes, path, key);
  return key;
}

/// Merges equal options of all plug-ins of a family into one row, such as "train.select.NAME.clock".
void merge_common_options(std::vector<Key>& keys) {
  for (const std::string& family : kFamilies) {
    std::set<std::string> plugins;
    std::map<std::string, std::vector<const Key*>> by_option;
    for (const Key& key : keys) {
      if (parent_of(key.path) == family) plugins.insert(name_of(key.path));
      if (parent_of(parent_of(key.path)) == family) by_option[name_of(key.path)].push_back(&key);
    }
    std::vector<Key> merged;
    std::set<std::string> gone;
    for (const auto& [option, rows] : by_option) {
      const bool alike = std::ranges::all_of(rows, [&](const Key* each) {
        return each->help == rows[0]->help && each->allowed == rows[0]->allowed &&
               each->default_value == rows[0]->default_value;
      });
      if (plugins.size() < 2 || rows.size() < plugins.size() || !alike) continue;
      merged.push_back(*rows[0]);
      merged.back().path = family + ".NAME." + option;
      for (const Key* each : rows) gone.insert(each->path);
    }
    std::erase_if(keys, [&](const Key& key) { return gone.contains(key.path); });
    keys.insert(keys.end(), merged.begin(), merged.end());
  }
}

}  // namespace

std::map<std::string, KeyNotes> read_key_notes(const std::filesystem::path& file) {
  std::vector<std::string> rows;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == ' ' && !rows.empty()) {
      rows.back() += " " + trimmed(line);
    } else {
      rows.push_back(line);
    }
  }
  std::map<std::string, KeyNotes> notes;
  for (const std::string& row : rows) {
    std::vector<std::string> cells;
    std::istringstream parts(row);
    for (std::string part; std::getline(parts, part, '|');) cells.push_back(trimmed(part));
    if (cells.size() < 2 || cells.size() > 4)
      throw std::runtime_error(file.string() + ": 2 to 4 cells are needed: " + row);
    cells.resize(4);
    if (!notes.emplace(cells[0], KeyNotes{cells[1], cells[2], cells[3]}).second) {
      throw std::runtime_error(file.string() + ": " + cells[0] + " is listed twice");
    }
  }
  return notes;
}

std::vector<std::string> schema_paths(const json& schema) {
  std::vector<std::string> paths;
  walk(schema, "", [&](const std::string& path, const json&, bool) { add_once(paths, path); });
  return paths;
}

std::vector<Key> schema_keys(const json& schema, const std::map<std::string, KeyNotes>& notes) {
  std::vector<Key> keys;
  walk(schema, "", [&](const std::string& path, const json& node, bool required) {
    if (is_plugin_option(path, notes) || path.starts_with("strategy.then.mltuner.")) return;
    if (parent_of(path) == "space.params") return keys.push_back(varied_key(path, schema, notes));
    Key key{path,
            type_of(node),
            required ? "required" : default_of(node),
            allowed_of(node),
            node.value("description", ""),
            example_of(path, node.value("default", json()), notes)};
    const bool is_plugin = std::ranges::find(kFamilies, parent_of(path)) != kFamilies.end();
    if (is_plugin) key.default_value = "not used";
    if (is_plugin && node.value("properties", json()).empty()) key.allowed = "no options";
    apply(notes, path, key);
    const auto same = std::ranges::find(keys, path, &Key::path);
    if (same == keys.end()) {
      keys.push_back(std::move(key));
    } else if (same->allowed != key.allowed) {
      same->allowed += ", " + key.allowed;
    }
  });
  merge_common_options(keys);
  return keys;
}

std::vector<Key> plugin_keys(const std::string& section, const std::string& plugin,
                             const std::vector<OptionSpec>& options, const std::map<std::string, KeyNotes>& notes) {
  std::vector<Key> keys;
  for (const OptionSpec& option : options) {
    const json node = studyfile::option_schema(option);
    const std::string path = section + "." + option.name, any = section + "(*)." + option.name;
    std::string noted = section + "(" + plugin + ")." + option.name;
    if (!notes.contains(noted) && notes.contains(any)) noted = any;
    Key key{path,
            type_of(node),
            option.default_value.is_null() ? "required" : default_of(node),
            allowed_of(node),
            option.help,
            ""};
    if (const auto own = notes.find(noted); own != notes.end()) {
      key.example = own->second.example;
    } else if (!is_empty(option.default_value)) {
      auto all = notes.find(section + "(" + plugin + ").*");
      if (all == notes.end()) all = notes.find(section + "(*).*");
      if (all != notes.end()) key.example = filled(all->second.example, plugin, option.name, option.default_value);
    }
    apply(notes, noted, key);
    keys.push_back(std::move(key));
  }
  return keys;
}

bool is_row_of(const Key& key, const std::string& path) {
  if (key.path == path) return true;
  const auto at = key.path.find(".NAME.");
  if (at == std::string::npos) return false;
  const std::string before = key.path.substr(0, at + 1), behind = key.path.substr(at + 5);
  if (!path.starts_with(before) || !path.ends_with(behind) || path.size() <= before.size() + behind.size())
    return false;
  return path.substr(before.size(), path.size() - before.size() - behind.size()).find('.') == std::string::npos;
}

}  // namespace lanista::reference
