#include "formats/formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lanista::stored_formats {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool is_keyword(const std::string& word) {
  return std::ranges::all_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

/// The sources in the lists TESTS and TORCH_TESTS of all modules, without their endings.
std::set<std::string> sources_of_tests(const std::string& root) {
  const fs::path below = fs::path(root + "/src/lanista").lexically_normal();
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(below)) {
    if (entry.path().filename() != "CMakeLists.txt") continue;
    std::istringstream words(read(entry.path()));
    bool is_test = false;
    for (std::string word; words >> word;) {
      while (!word.empty() && word.back() == ')') word.pop_back();
      if (word.empty()) continue;
      if (is_keyword(word)) is_test = word == "TESTS" || word == "TORCH_TESTS";
      if (!is_test || !word.ends_with(".cpp")) continue;
      const fs::path source = (entry.path().parent_path() / word.substr(0, word.size() - 4)).lexically_normal();
      out.insert(source.lexically_relative(below).string());
    }
  }
  return out;
}

/// Folders and files with texts that are no formats: benchmarks, code for devices, the public interface, and helpers
/// of tests.
bool is_left_out(const std::string& path) {
  const std::string whole = "/" + path;
  if (whole.find("/exec/backends/") != std::string::npos) return whole.find("/exec/backends/cpu/") == std::string::npos;
  for (const char* folder : {"/bench/", "/exec/kernels/", "/app/api/", "/io/studyfile/foreign_table.cpp"}) {
    if (whole.find(folder) != std::string::npos) return true;
  }
  return whole.find("/memory_file_system.") != std::string::npos;
}

/// The names of fields and keys in the tables of tests/inventory.
std::set<std::string> names_of_inventory(const std::string& root) {
  std::set<std::string> names;
  std::vector<std::string> mistakes;  // those of its tables are a matter of its own test
  for (const char* table : {"stored_fields.txt", "study_keys.txt"}) {
    for (const auto& [name, row] : inventory::read_table(root + "/tests/inventory/" + table, ".", mistakes)) {
      std::istringstream parts(name.substr(name.rfind(".cpp.") == std::string::npos ? 0 : name.rfind(".cpp.") + 5));
      for (std::string part; std::getline(parts, part, '.');) names.insert(part);
    }
  }
  return names;
}

/// A value as it is written in a row: in quotes if it is empty, or begins or ends with a space.
std::string shown(const std::string& value) {
  const bool is_plain = !value.empty() && value.front() != ' ' && value.back() != ' ';
  return is_plain ? value : '"' + value + '"';
}
std::string value_of(const std::string& shown) {
  const bool has_quotes = shown.size() > 1 && shown.front() == '"' && shown.back() == '"';
  return has_quotes ? shown.substr(1, shown.size() - 2) : shown;
}

std::string row_of(const Format& format, const Uses& uses) {
  return format.first + " | " + (is_counted(format.first) ? std::to_string(uses.count) : "-") + " | " +
         shown(format.second);
}

std::string list_of(const std::set<std::string>& files) {
  std::string out;
  for (const std::string& file : files) out += (out.empty() ? "" : ", ") + file;
  return out;
}

}  // namespace

std::vector<inventory::Source> product_sources(const std::string& root) {
  std::vector<inventory::Source> all = inventory::read_sources(root);
  const std::set<std::string> tests = sources_of_tests(root);
  std::erase_if(all, [&](const inventory::Source& source) {
    return is_left_out(source.path) || tests.contains(source.path.substr(0, source.path.rfind('.')));
  });
  return all;
}

Formats formats_of(const std::string& root) {
  Formats out;
  for (const inventory::Source& source : product_sources(root)) add_formats(source, out);
  for (const std::string& name : names_of_inventory(root)) out.erase({"word", name});
  return out;
}

const std::map<std::string, std::vector<std::string>>& tables() {
  static const std::map<std::string, std::vector<std::string>> kTables{
      {"identities", {"decision", "hashed text", "stream"}},
      {"names", {"event", "file name", "json text", "name of a value", "numeric class", "sql"}},
      {"numbers", {"enumerator", "magic", "version"}},
      {"words", {"word"}}};
  return kTables;
}

bool is_counted(const std::string& kind) { return kind != "word" && kind != "file name"; }

std::map<Format, int> read_rows(const std::string& text, std::vector<std::string>& mistakes) {
  std::map<Format, int> rows;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto first = line.find(" | "), second = first == std::string::npos ? first : line.find(" | ", first + 3);
    if (second == std::string::npos) {
      mistakes.push_back("line " + std::to_string(number) + " is '" + line + "'; it must be KIND | COUNT | VALUE");
      continue;
    }
    const Format format{line.substr(0, first), value_of(line.substr(second + 3))};
    const std::string count = line.substr(first + 3, second - first - 3);
    const bool is_new = rows.emplace(format, count == "-" ? 0 : std::atoi(count.c_str())).second;
    if (!is_new) mistakes.push_back("line " + std::to_string(number) + " is a second row for '" + format.second + "'");
  }
  return rows;
}

std::string rows_of(const Formats& formats, const std::vector<std::string>& kinds) {
  std::string out;
  for (const auto& [format, uses] : formats) {
    if (std::ranges::find(kinds, format.first) != kinds.end()) out += row_of(format, uses) + "\n";
  }
  return out;
}

std::vector<std::string> differences(const std::map<Format, int>& rows, const Formats& formats,
                                     const std::vector<std::string>& kinds) {
  std::vector<std::string> out;
  for (const auto& [format, uses] : formats) {
    if (std::ranges::find(kinds, format.first) == kinds.end()) continue;
    const auto row = rows.find(format);
    if (row == rows.end()) {
      out.push_back("new: '" + row_of(format, uses) + "' in " + list_of(uses.files));
    } else if (is_counted(format.first) && row->second != uses.count) {
      out.push_back("the count was " + std::to_string(row->second) + ": '" + row_of(format, uses) + "' in " +
                    list_of(uses.files));
    }
  }
  for (const auto& [format, count] : rows) {
    if (formats.contains(format)) continue;
    out.push_back("gone: '" + row_of(format, {.count = count, .files = {}}) + "'; stored files still have it");
  }
  return out;
}

}  // namespace lanista::stored_formats
