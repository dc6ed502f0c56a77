#include "lanista/io/formats/csv_writer.h"

#include <array>
#include <charconv>

namespace lanista::formats {

namespace {

/// True for texts such as "-1" and "+2.5e3", which a spreadsheet reads as numbers.
bool is_signed_number(std::string_view text) {
  const std::string_view rest = text.substr(1);
  if ((text.front() != '+' && text.front() != '-') || rest.empty() ||
      std::string_view("0123456789.").find(rest.front()) == std::string_view::npos)
    return false;
  double value = 0;
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return failed != std::errc::invalid_argument && end == rest.data() + rest.size();
}

}  // namespace

std::string csv_cell(std::string_view text) {
  const bool marked = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  const bool formula = marked && !is_signed_number(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = formula ? "\"'" : "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string csv_cell(double value) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

void add_csv_row(std::string& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + cells[i];
  out += "\r\n";
}

}  // namespace lanista::formats
