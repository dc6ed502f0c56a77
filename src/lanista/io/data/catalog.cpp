#include "lanista/io/data/catalog.h"

#include <algorithm>
#include <utility>

#include "lanista/base/memory_file_system.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {

std::vector<CatalogEntry> catalog() {
  std::vector<CatalogEntry> out;
  for (const SourceKind& kind : source_kinds()) {
    CatalogEntry& entry = out.emplace_back();
    entry.notation = kind.notation;
    entry.help = kind.help;
    for (const SourceKind::Option& option : kind.options)
      entry.options.push_back({option.name, option.values, option.help});
    if (kind.name != "builtin") continue;
    MemoryFileSystem none;
    study::DataConfig config;
    config.source = kind.notation;
    const auto set = open(config, "", none);
    LANISTA_CHECK(set.ok(), "what is built in can be opened");
    entry.licence = set->spec().licence;
    entry.hash = set->spec().hash.hex();
    entry.rows = set->spec().rows;
  }
  return out;
}

std::string catalog_text(const std::vector<CatalogEntry>& entries) {
  std::string out;
  for (const CatalogEntry& entry : entries) {
    out += entry.notation + "\n    " + entry.help;
    if (entry.rows > 0) {
      out += "; " + std::to_string(entry.rows) + " rows, " + entry.licence + ", hash " + entry.hash;
    }
    out += "\n";
    std::size_t longest = 0;
    for (const auto& option : entry.options) longest = std::max(longest, option.name.size() + option.values.size());
    for (const auto& option : entry.options) {
      const std::size_t used = option.name.size() + option.values.size();
      out += "    " + option.name + "=" + option.values + std::string(longest - used + 2, ' ') + option.help + "\n";
    }
  }
  return out;
}

nlohmann::json catalog_json(const std::vector<CatalogEntry>& entries) {
  nlohmann::json out = nlohmann::json::array();
  for (const CatalogEntry& entry : entries) {
    nlohmann::json options = nlohmann::json::array();
    for (const auto& option : entry.options) {
      options.push_back({{"name", option.name}, {"values", option.values}, {"help", option.help}});
    }
    nlohmann::json json = {{"notation", entry.notation}, {"help", entry.help}, {"options", std::move(options)}};
    if (entry.rows > 0) json.update({{"rows", entry.rows}, {"licence", entry.licence}, {"hash", entry.hash}});
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace lanista::data
