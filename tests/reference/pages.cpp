#include "reference/pages.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/search/sampler/strategy.h"
#include "reference/markdown.h"

namespace lanista::reference {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeysOf = "keys of ";

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Returns "schema" and "name" for "keys of schema, name".
std::vector<std::string> prefixes_of(const std::string& block) {
  std::vector<std::string> out;
  if (!block.starts_with(kKeysOf)) return out;
  std::istringstream parts(block.substr(kKeysOf.size()));
  for (std::string part; std::getline(parts, part, ',');) out.push_back(part.substr(part.find_first_not_of(' ')));
  return out;
}

/// Returns a link from one page below docs/reference to another.
std::string link_to(const std::string& from, const std::string& to) {
  if (from == to) return "";
  return fs::path(to).lexically_relative(fs::path(from).parent_path()).generic_string();
}

bool has_heading(const std::string& page, const std::string& heading) {
  return page.find("\n### " + heading + "\n") != std::string::npos;
}

/// Calls `visit(section, plug-in, options)` for each strategy and each stopping rule.
template <class Visit>
void for_each_plugin(const Visit& visit) {
  for (const auto& plugin : search::builtin_strategies()) visit("strategy", plugin.name, plugin.options);
  visit("strategy", std::string(studyfile::kMltuner), studyfile::mltuner_strategy_options());
  for (const auto& plugin : search::builtin_stopping_rules()) visit("stop", plugin.name, plugin.options);
}

bool is_below(const std::string& path, const std::string& prefix) {
  return path == prefix || path.starts_with(prefix + ".");
}

}  // namespace

const Row kKeyHeader{"key", "type", "default", "allowed", "meaning", "example"};

Row key_row(const Key& key, const std::string& shown) {
  return {shown, key.type, key.default_value, key.allowed, sentence(key.help), code(key.example)};
}

Reference::Reference(const fs::path& source)
    : notes_(read_key_notes(source / "tests" / "reference" / "study_keys.txt")),
      schema_keys_(schema_keys(studyfile::study_json_schema(), notes_)) {
  const fs::path root = source / "docs" / "reference";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = entry.path().lexically_relative(root).generic_string();
    pages_[page] = read_text(entry.path());
    for (const std::string& name : block_names(pages_[page])) {
      for (const std::string& prefix : prefixes_of(name)) page_of_prefix_[prefix] = page;
    }
  }
}

std::string Reference::page_of(const Key& key) const {
  if (key.path.find('.') == std::string::npos && key.type == "mapping") return "study-file/README.md";  // a section
  std::size_t longest = 0;
  std::string page;
  for (const auto& [prefix, its_page] : page_of_prefix_) {
    if (!is_below(key.path, prefix) || prefix.size() < longest) continue;
    longest = prefix.size();
    page = its_page;
  }
  return page;
}

std::string Reference::key_table(const std::string& page, const std::vector<Key>& keys) const {
  std::vector<Row> rows;
  for (const Key& key : keys) {
    const std::string heading = code(key.path);
    const bool has_details = has_heading(pages_.at(page), heading);
    rows.push_back(key_row(key, has_details ? "[" + heading + "](#" + anchor(heading) + ")" : heading));
  }
  return table(kKeyHeader, rows);
}

std::string Reference::block(const std::string& page, const std::string& name) const {
  if (name == "sections") return sections();
  if (name == "index") return index();
  const std::vector<std::string> prefixes = prefixes_of(name);
  if (prefixes.empty()) {
    std::string other = other_block(name, notes_);
    if (other.empty()) throw std::runtime_error(page + ": there is no block '" + name + "'");
    return other;
  }
  std::vector<Key> keys;
  for (const std::string& prefix : prefixes) {
    for (const Key& key : schema_keys_) {
      if (!is_below(key.path, prefix) || (key.path == prefix && key.type == "mapping")) continue;
      // Keys with a longer prefix have their own block.
      const bool elsewhere = std::ranges::any_of(page_of_prefix_, [&](const auto& each) {
        return each.first.size() > prefix.size() && is_below(key.path, each.first) && key.path != each.first;
      });
      const bool is_own_head = key.path == prefix && prefix.find('.') != std::string::npos;
      if (!elsewhere && !is_own_head) keys.push_back(key);
    }
  }
  return key_table(page, keys);
}

std::string Reference::written(const std::string& page) const {
  return with_blocks(pages_.at(page), [&](const std::string& name) { return block(page, name); });
}

std::string Reference::sections() const {
  std::vector<Row> rows;
  for (const Key& key : schema_keys_) {
    if (key.path.find('.') != std::string::npos) continue;
    std::string page;
    for (const auto& [prefix, its_page] : page_of_prefix_) {
      if (prefix == key.path) page = its_page;
    }
    if (page.empty() || page.ends_with("README.md")) continue;
    rows.push_back(key_row(key, "[" + code(key.path) + "](" + link_to("study-file/README.md", page) + ")"));
  }
  return table(kKeyHeader, rows);
}

std::string Reference::index() const {
  const std::string here = "study-file/README.md";
  std::map<std::string, Row> rows;
  for (const Key& key : schema_keys_) {
    const std::string page = page_of(key);
    if (page == here) continue;
    const std::string heading = code(key.path);
    const bool has_details = pages_.contains(page) && has_heading(pages_.at(page), heading);
    const std::string link = link_to(here, page) + (has_details ? "#" + anchor(heading) : "");
    rows[key.path] = {"[" + heading + "](" + link + ")", key.type, key.default_value};
  }
  std::map<std::string, std::vector<std::string>> plugins;  // plug-ins by option
  for_each_plugin([&](const std::string& section, const std::string& plugin, const std::vector<OptionSpec>& options) {
    for (const OptionSpec& option : options) plugins[section + "." + option.name].push_back(code(plugin));
  });
  for (const auto& [path, names] : plugins) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    const bool is_common = names.size() >= search::builtin_strategies().size();
    rows[path] = {"[" + code(path) + "](../strategies.md)", "option", "of " + (is_common ? "all samplers" : list)};
  }
  std::vector<Row> sorted;
  for (const auto& [path, row] : rows) sorted.push_back(row);
  return table({"key", "type", "default"}, sorted);
}

std::vector<Key> Reference::keys() const {
  std::vector<Key> out = schema_keys_;
  for_each_plugin([&](const std::string& section, const std::string& plugin, const std::vector<OptionSpec>& options) {
    for (Key& key : plugin_keys(section, plugin, options, notes_)) out.push_back(std::move(key));
  });
  return out;
}

}  // namespace lanista::reference
