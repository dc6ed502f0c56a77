#include "reference/markdown.h"

#include <cctype>
#include <sstream>
#include <stdexcept>

namespace lanista::reference {
namespace {

constexpr std::string_view kBegins = "<!-- generated: ", kBeginEnds = " -->\n", kEnds = "<!-- end -->\n";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string line_of(const Row& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += cell.empty() ? " |" : " " + escaped(cell) + " |";
  return line + "\n";
}

std::string grouped(std::string digits) {
  const std::size_t first = digits.starts_with("-") ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string table(const Row& header, const std::vector<Row>& rows) {
  std::string out = line_of(header) + "|";
  for (std::size_t i = 0; i < header.size(); ++i) out += "---|";
  out += "\n";
  for (const Row& row : rows) out += line_of(row);
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string anchor(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) || c == '_' || c == '-') out += static_cast<char>(std::tolower(letter));
    if (c == ' ') out += '-';
  }
  return out;
}

std::string number_text(const nlohmann::json& number) {
  const double value = number.get<double>();
  if (value == static_cast<double>(static_cast<std::int64_t>(value)) && std::abs(value) < 1e16) {
    return grouped(std::to_string(static_cast<std::int64_t>(value)));
  }
  std::ostringstream short_text;
  short_text << value;  // six digits
  std::string text = short_text.str();
  if (const auto plus = text.find("e+"); plus != std::string::npos) text.erase(plus + 1, 1);
  return text;
}

std::string value_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float() && value.dump().size() > 9) {
    std::ostringstream text;
    text << value.get<double>();  // six digits
    return text.str();
  }
  if (value.is_number_float() && value == static_cast<double>(static_cast<std::int64_t>(value.get<double>()))) {
    return std::to_string(static_cast<std::int64_t>(value.get<double>()));
  }
  if (!value.is_array()) return value.dump();
  std::string out = "[";
  for (const auto& each : value) out += (out.size() > 1 ? ", " : "") + value_text(each);
  return out + "]";
}

std::string wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 120;
  std::istringstream words(text);
  std::string out, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line;
}

std::string sentence(std::string help) {
  if (help.empty()) return help;
  const bool is_name = help.find_first_of("_./=") < help.find(' ');  // a key or a path at the start keeps its case
  if (!is_name) help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
  return help.back() == '.' ? help : help + ".";
}

std::vector<std::string> block_names(std::string_view page) {
  std::vector<std::string> names;
  with_blocks(page, [&](const std::string& name) {
    names.push_back(name);
    return std::string();
  });
  return names;
}

std::string with_blocks(std::string_view page, const std::function<std::string(const std::string&)>& render) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t begin = page.find(kBegins, at);
    if (begin == std::string_view::npos) return out + std::string(page.substr(at));
    const std::size_t name = begin + kBegins.size(), line = page.find(kBeginEnds, name);
    const std::size_t end = page.find(kEnds, name);
    if (line == std::string_view::npos || end == std::string_view::npos || line > end) {
      throw std::runtime_error("a generated block has no end: " + std::string(page.substr(begin, 60)));
    }
    const std::size_t text = line + kBeginEnds.size();
    out += std::string(page.substr(at, text - at)) + render(std::string(page.substr(name, line - name)));
    at = end;
    out += kEnds;
    at += kEnds.size();
  }
}

std::vector<std::string> fenced(std::string_view page, std::string_view kind) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(page)};
  std::string text, opened;
  bool is_open = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("```")) {
      text += line + "\n";
    } else if (is_open) {
      if (opened == kind) out.push_back(text);
      is_open = false;
    } else {
      is_open = true;
      opened = line.substr(3);
      text.clear();
    }
  }
  return out;
}

}  // namespace lanista::reference
