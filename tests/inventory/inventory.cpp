#include "inventory/inventory.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

namespace lanista::inventory {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_field_name(std::string_view text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text.front())) != 0 || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) { return is_name_char(c) || c == '.' || c == '-'; });
}

/// Returns the text with comments replaced by spaces.
std::string without_comments(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "R\"(") == 0) {
      i = text.find(")\"", i);
      if (i == std::string::npos) break;
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_name_char(text[i - 1])))) {
      const char end = text[i];
      for (++i; i < text.size() && text[i] != end && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text.compare(i, 2, "//") == 0) {
      for (; i < text.size() && text[i] != '\n'; ++i) text[i] = ' ';
    }
  }
  return text;
}

char before(const std::string& text, std::size_t& at) {
  while (at > 0 && std::isspace(static_cast<unsigned char>(text[at - 1])) != 0) --at;
  return at == 0 ? '\0' : text[at - 1];
}

std::string name_before(const std::string& text, std::size_t at) {
  before(text, at);
  std::size_t begin = at;
  while (begin > 0 && is_name_char(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

/// Returns whether the literal at `quote` is the second argument of a call with a simple first argument.
bool is_second_argument(const std::string& text, std::size_t quote) {
  if (before(text, quote) != ',') return false;
  int depth = 0;
  for (std::size_t i = quote - 1; i > 0; --i) {
    const char c = text[i - 1];
    if (c == ')' || c == ']') ++depth;
    if (c == '[') --depth;
    if (c == '(' && depth-- == 0) return i > 1 && (is_name_char(text[i - 2]) || text[i - 2] == '>');
    if (c == ';' || c == '{' || c == '}') return false;
    if (depth == 0 && !is_name_char(c) && std::string_view("()[].:*->").find(c) == std::string_view::npos) return false;
  }
  return false;
}

/// Returns the name of the call that has the position `at` among its arguments.
std::string call_around(const std::string& text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i > 0; --i) {
    if (text[i - 1] == ')') ++depth;
    if (text[i - 1] == '(' && depth-- == 0) return name_before(text, i - 1);
  }
  return "";
}

/// Returns the text with the names of the file's string constants replaced by their literals.
std::string with_literals(const std::string& text) {
  std::map<std::string, std::string> literals;
  for (auto at = text.find(" = \""); at != std::string::npos; at = text.find(" = \"", at + 1)) {
    const std::string name = name_before(text, at);
    const bool is_constant =
        name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1])) != 0;
    if (is_constant) literals[name] = text.substr(at + 3, text.find('"', at + 4) + 1 - (at + 3));
  }
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_name_char(text[end])) ++end;
    const std::string word = text.substr(i, std::max<std::size_t>(end - i, 1));
    const auto found = literals.find(word);
    out += found == literals.end() ? word : found->second;
    i += word.size();
  }
  return out;
}

/// Adds the names in json_object("name", value, "name", value, …).
void add_object_names(const std::string& text, std::set<std::string>& fields) {
  constexpr std::string_view kCall = "json_object(";
  for (auto at = text.find(kCall); at != std::string::npos; at = text.find(kCall, at + 1)) {
    int depth = 1, argument = 0;
    bool begins = true;
    for (std::size_t i = at + kCall.size(); i < text.size() && depth > 0; ++i) {
      const char c = text[i];
      if (c == '"') {
        const auto end = text.find('"', i + 1);
        if (end == std::string::npos) return;
        if (depth == 1 && begins && argument % 2 == 0) fields.insert(text.substr(i + 1, end - i - 1));
        i = end;
      }
      if (c == '(' || c == '{' || c == '[') ++depth;
      if (c == ')' || c == '}' || c == ']') --depth;
      if (c == ',' && depth == 1) ++argument;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) begins = c == ',' && depth == 1;
    }
  }
}

}  // namespace

std::map<std::string, Row> read_table(const std::string& path, const std::string& separator,
                                      std::vector<std::string>& mistakes) {
  std::map<std::string, Row> rows;
  std::istringstream lines(read(path));
  std::string section;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto mistake = [&](const std::string& what) {
      mistakes.push_back(path + ":" + std::to_string(number) + ": " + what);
    };
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      section = line.substr(1, line.find(']') - 1);
      continue;
    }
    const auto first = line.find(" | "), second = first == std::string::npos ? first : line.find(" | ", first + 3);
    if (second == std::string::npos) {
      mistake("has no KIND | GUARD | NAMES");
      continue;
    }
    const Row row{trimmed(line.substr(0, first)), trimmed(line.substr(first + 3, second - first - 3)), number};
    if (row.guard.empty()) mistake("has no guard");
    std::istringstream names(line.substr(second + 3));
    for (std::string name; names >> name;) {
      const std::string whole = section.empty() ? name : section + separator + name;
      if (!rows.emplace(whole, row).second) mistake("has a second row for " + whole);
    }
  }
  return rows;
}

std::vector<Source> read_sources(const std::string& root) {
  std::vector<Source> out;
  const auto read_below = [&](const std::string& folder, const std::string& prefix) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const bool is_source = name.ends_with(".cpp") || name.ends_with(".h");
      if (!is_source || name.find("_test.") != std::string::npos) continue;
      out.push_back({prefix + entry.path().lexically_relative(folder).string(), without_comments(read(entry.path()))});
    }
  };
  read_below(root + "/src/lanista", "");
  read_below(root + "/bench", "bench/");
  std::ranges::sort(out, {}, &Source::path);
  return out;
}

std::set<std::string> json_fields(const std::string& source) {
  const std::string text = with_literals(source);
  constexpr std::array<std::string_view, 6> kReaders{"at", "contains", "value", "find", "erase", "count"};
  // Of a field table `t` (search/study/record_table.h): calls with the name first, and calls with the name later.
  constexpr std::array<std::string_view, 5> kNameFirst{"t", "optional", "via", "list", "has"};
  constexpr std::array<std::string_view, 2> kNameLater{"or_text", "amount"};
  std::set<std::string> fields;
  for (std::size_t quote = text.find('"'); quote != std::string::npos; quote = text.find('"', quote)) {
    std::size_t end = quote + 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) break;
    const std::string literal = text.substr(quote + 1, end - quote - 1);
    std::size_t at = quote;
    const char previous = before(text, at);
    const char next = end + 1 < text.size() ? text[end + 1] : '\0';
    const bool is_key =
        is_field_name(literal) &&
        ((previous == '[' && next == ']') || (previous == '{' && next == ',') ||
         (previous == '(' && std::ranges::find(kReaders, name_before(text, at - 1)) != kReaders.end()) ||
         (previous == '(' && next == ',' &&
          ((at > 1 && text[at - 2] == ')') ||
           std::ranges::find(kNameFirst, name_before(text, at - 1)) != kNameFirst.end())) ||
         (previous == ',' && next == ',' &&
          std::ranges::find(kNameLater, call_around(text, quote)) != kNameLater.end()) ||
         is_second_argument(text, quote));
    if (is_key) fields.insert(literal);
    quote = end + 1;
  }
  add_object_names(text, fields);
  return fields;
}

std::set<std::string> sql_columns(const std::string& text) {
  constexpr std::string_view kCreate = "CREATE TABLE ";
  std::set<std::string> columns;
  for (auto at = text.find(kCreate); at != std::string::npos; at = text.find(kCreate, at + 1)) {
    const auto open = text.find('(', at);
    if (open == std::string::npos) break;
    const std::string table = text.substr(at + kCreate.size(), open - at - kCreate.size());
    int depth = 1;
    std::string column;
    for (std::size_t i = open + 1; i < text.size() && depth > 0; ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')') --depth;
      if ((text[i] == ',' && depth == 1) || depth == 0) {
        std::istringstream words(column);
        std::string first;
        words >> first;
        if (!first.empty() && first != "PRIMARY" && !first.starts_with("PRIMARY(")) columns.insert(table + "." + first);
        column.clear();
      } else {
        column += text[i];
      }
    }
  }
  return columns;
}

std::set<std::string> program_starts_in(const std::string& text) {
  constexpr std::array<std::string_view, 14> kCalls{"execv",       "execve",       "execvp", "execvpe",      "execl",
                                                    "execlp",      "fexecve",      "dlopen", "dlmopen",      "popen",
                                                    "posix_spawn", "posix_spawnp", "getenv", "secure_getenv"};
  std::set<std::string> out;
  for (std::size_t paren = text.find('('); paren != std::string::npos; paren = text.find('(', paren + 1)) {
    const std::string name = name_before(text, paren);
    const bool is_system = name == "system" && paren > 8 && text.compare(paren - 8, 2, "::") == 0;
    if (!is_system && std::ranges::find(kCalls, name) == kCalls.end()) continue;
    const bool has_literal = paren + 1 < text.size() && text[paren + 1] == '"';
    const auto end = has_literal ? text.find('"', paren + 2) : std::string::npos;
    out.insert(end == std::string::npos ? name : name + ":" + text.substr(paren + 2, end - paren - 2));
  }
  return out;
}

std::set<std::string> defined_tests(const std::string& root) {
  std::set<std::string> tests;
  for (const char* folder : {"/src", "/tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root + folder)) {
      if (!entry.path().filename().string().ends_with(".cpp") && !entry.path().filename().string().ends_with(".h")) {
        continue;
      }
      const std::string text = read(entry.path());
      for (const std::string_view macro : {"TEST(", "TEST_F(", "TEST_P(", "TYPED_TEST(", "TYPED_TEST_P("}) {
        for (auto at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1)) {
          std::string both = text.substr(at + macro.size(), text.find(')', at) - at - macro.size());
          const auto comma = both.find(',');
          if (comma == std::string::npos) continue;
          std::string name = both.substr(comma + 1);
          std::erase_if(name, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
          tests.insert(trimmed(both.substr(0, comma)) + "." + name);
        }
      }
    }
  }
  return tests;
}

GuardNames names_of_guard(const std::string& guard) {
  GuardNames out;
  std::istringstream words(guard);
  for (std::string word; words >> word;) {
    while (!word.empty() && std::string_view(",;:").find(word.back()) != std::string_view::npos) word.pop_back();
    if (word.ends_with("()")) out.functions.push_back(word.substr(0, word.size() - 2));
    const auto dot = word.find('.');
    const bool is_test = dot != std::string::npos && dot > 0 && dot + 1 < word.size() &&
                         std::isupper(static_cast<unsigned char>(word.front())) != 0 &&
                         std::isupper(static_cast<unsigned char>(word[dot + 1])) != 0;
    if (is_test) out.tests.push_back(word);
  }
  return out;
}

}  // namespace lanista::inventory
