#include "lanista/formats/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace lanista::formats {
namespace {

constexpr std::size_t kMaxColumns = 10'000;

Error broken(std::size_t line, std::string message) {
  return {Code::kDataLoss, "csv: line " + std::to_string(line) + ": " + std::move(message), ""};
}

bool is_number(std::string_view cell) {
  while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  double value = 0;
  const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return failed == std::errc() && end == cell.data() + cell.size();
}

char sniff_separator(std::string_view text) {
  constexpr std::array<char, 3> kCandidates = {',', ';', '\t'};
  std::array<int, 3> counts{};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) break;
    for (std::size_t i = 0; i < kCandidates.size(); ++i) {
      if (!quoted && c == kCandidates[i]) ++counts[i];
    }
  }
  return kCandidates[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

/// Reads one line of cells after the other.
class Reader {
 public:
  Reader(std::string_view text, char separator) : text_(text), separator_(separator) {}

  bool at_end() const { return position_ == text_.size(); }
  std::size_t line() const { return line_; }  ///< where the last row began
  void expect_cells(std::size_t n) { expected_ = n; }

  /// The cells of the next line; none for an empty line.
  Result<std::vector<std::string>> row() {
    line_ = next_line_;
    std::vector<std::string> cells;
    cells.reserve(expected_);
    if (take_newline()) return cells;
    while (true) {
      if (cells.size() == kMaxColumns) {
        return broken(line_, "more than " + std::to_string(kMaxColumns) + " columns");
      }
      LANISTA_ASSIGN(cells.emplace_back(), cell());
      if (at_end() || take_newline()) return cells;
      ++position_;  // the separator, by the contract of cell()
    }
  }

 private:
  bool take_newline() {
    if (at_end() || (text_[position_] != '\n' && text_[position_] != '\r')) return false;
    position_ += text_.substr(position_, 2) == "\r\n" ? 2 : 1;
    ++next_line_;
    return true;
  }

  bool ends_cell(char c) const { return c == separator_ || c == '\n' || c == '\r'; }

  /// Leaves the position at a separator, at a newline or at the end.
  Result<std::string> cell() {
    if (!at_end() && text_[position_] == '"') return quoted_cell();
    const std::size_t begin = position_;
    for (; !at_end() && !ends_cell(text_[position_]); ++position_) {
      if (text_[position_] == '"') return broken(next_line_, "a quote inside a cell that does not begin with one");
      if (text_[position_] == '\0') return broken(next_line_, "a zero byte; this is not a text file");
    }
    return std::string(text_.substr(begin, position_ - begin));
  }

  Result<std::string> quoted_cell() {
    const std::size_t opened = next_line_;
    std::string out;
    ++position_;
    while (true) {
      if (at_end()) return broken(opened, "a quote is opened here and never closed");
      const char c = text_[position_++];
      if (c == '"') {
        if (at_end() || text_[position_] != '"') break;
        ++position_;
      }
      if (c == '\0') return broken(next_line_, "a zero byte; this is not a text file");
      if (c == '\n') ++next_line_;
      out += c;
    }
    if (!at_end() && !ends_cell(text_[position_])) {
      return broken(next_line_, "'" + std::string(1, text_[position_]) + "' behind a closing quote");
    }
    return out;
  }

  std::string_view text_;
  char separator_;
  std::size_t position_ = 0;
  std::size_t line_ = 1, next_line_ = 1;
  std::size_t expected_ = 0;
};

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options) {
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    return broken(1, "the text is UTF-16; save it as UTF-8");
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);

  CsvTable table;
  Reader reader(text, options.separator != 0 ? options.separator : sniff_separator(text));
  std::size_t columns = 0;
  while (!reader.at_end()) {
    LANISTA_ASSIGN(std::vector<std::string> cells, reader.row());
    if (cells.empty()) continue;
    if (columns == 0) {
      columns = cells.size();
      reader.expect_cells(columns);
      const bool header = options.header.value_or(std::none_of(cells.begin(), cells.end(), is_number));
      if (header) {
        table.header = std::move(cells);
        continue;
      }
      for (std::size_t c = 0; c < columns; ++c) table.header.push_back("c" + std::to_string(c));
    }
    if (cells.size() != columns) {
      return broken(reader.line(),
                    std::to_string(cells.size()) + " cells, the first line has " + std::to_string(columns));
    }
    table.rows.push_back(std::move(cells));
  }
  if (columns == 0) return broken(1, "the file holds no rows");
  return table;
}

}  // namespace lanista::formats
