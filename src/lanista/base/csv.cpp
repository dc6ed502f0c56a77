#include "lanista/base/csv.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/csv_header.h"
#include "lanista/base/parse_number.h"
#include "lanista/base/text_cursor.h"
#include "lanista/base/utf8.h"

namespace lanista::formats {
namespace {

constexpr std::size_t kMaxColumns = 10'000;

Error malformed(std::size_t line, std::string message) {
  return {Code::kDataLoss, "csv: line " + std::to_string(line) + ": " + std::move(message), ""};
}

bool is_number(std::string_view cell) {
  cell = trim(cell, " ");
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  return parse_number<double>(cell).has_value();
}

/// The most frequent separator of the first line. With `later_ones`, '|' is one if the line has no other.
char sniff_separator(std::string_view text, bool later_ones) {
  constexpr std::array<char, 4> kCandidates = {',', ';', '\t', '|'};
  std::array<int, 4> counts{};
  if (later_ones) text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) break;
    for (std::size_t i = 0; i < kCandidates.size(); ++i) {
      if (!quoted && c == kCandidates[i]) ++counts[i];
    }
  }
  const auto usual = std::max_element(counts.begin(), counts.end() - 1);
  if (*usual == 0 && later_ones && counts.back() > 0) return kCandidates.back();
  return kCandidates[static_cast<std::size_t>(usual - counts.begin())];
}

/// The separator that a first line "sep=;" names, also in quotes; 0 if it is another line. Then the line is removed.
char take_separator_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const bool quoted = line.size() == 7 && line.starts_with('"') && line.ends_with('"');
  const std::string_view inner = quoted ? line.substr(1, 5) : line;
  const bool is_named =
      inner.size() == 5 && inner.starts_with("sep=") && inner[4] != '"' && static_cast<unsigned char>(inner[4]) < 0x80;
  if (!is_named || line.size() == text.size()) return 0;
  text.remove_prefix(line.size());
  return inner[4];
}

}  // namespace

/// Appends one line of cells after the other to a table.
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator, bool joins_blanks)
      : text_(text), separator_(separator), joins_blanks_(joins_blanks) {
    // A cell ends at a separator, at a newline or at the end. Reserved memory that is not used is never touched.
    // Growing the list would hold it twice.
    const auto ends = std::count_if(text.begin(), text.end(), [this](char c) { return ends_cell(c); });
    table_.ends_.reserve(static_cast<std::size_t>(ends) + 1);
    table_.text_.reserve(text.size());
  }

  Result<CsvTable> table(const CsvOptions& options) {
    while (!at_end()) {
      const std::size_t line = line_, before = table_.ends_.size();
      LANISTA_TRY(row());
      const std::size_t cells = table_.ends_.size() - before;
      if (cells == 0) continue;
      if (table_.header_.empty()) {
        begin_table(cells, options);
      } else if (cells != table_.columns()) {
        return malformed(line,
                         std::to_string(cells) + " cells, the first line has " + std::to_string(table_.columns()));
      }
    }
    if (table_.header_.empty()) return malformed(1, "the file has no rows");
    if (!options.header && options.header_rule == HeaderRule::kTypesBelow) {
      const HeaderDecision decision = decide_header(table_, options.known_names);
      if (decision.has_names) table_.take_header();
      table_.is_header_doubtful_ = decision.is_doubtful;
    }
    return std::move(table_);
  }

 private:
  bool at_end() const { return position_ == text_.size(); }
  bool ends_cell(char c) const { return c == separator_ || c == '\n' || c == '\r'; }

  bool consume_newline() {
    if (at_end() || (text_[position_] != '\n' && text_[position_] != '\r')) return false;
    position_ += text_.substr(position_, 2) == "\r\n" ? 2 : 1;
    ++line_;
    return true;
  }

  /// Skips blanks where several of them are one separator.
  void join_blanks() {
    while (joins_blanks_ && !at_end() && text_[position_] == ' ') ++position_;
  }

  /// The cells of the next line; none for an empty line.
  Result<void> row() {
    join_blanks();
    if (at_end() || consume_newline()) return {};
    const std::size_t line = line_;
    for (std::size_t cells = 0;; ++cells) {
      if (cells == kMaxColumns) return malformed(line, "more than " + std::to_string(kMaxColumns) + " columns");
      LANISTA_TRY(cell());
      table_.ends_.push_back(static_cast<std::uint32_t>(table_.text_.size()));
      join_blanks();
      if (at_end() || consume_newline()) return {};
      if (!joins_blanks_) ++position_;  // the separator, by the contract of cell()
    }
  }

  /// Leaves the position at a separator, at a newline or at the end.
  Result<void> cell() {
    if (!at_end() && text_[position_] == '"') return quoted_cell();
    const std::size_t begin = position_;
    for (; !at_end() && !ends_cell(text_[position_]); ++position_) {
      if (text_[position_] == '"') return malformed(line_, "a quote inside a cell that does not begin with one");
      if (text_[position_] == '\0') return malformed(line_, "a zero byte; this is not a text file");
    }
    table_.text_ += text_.substr(begin, position_ - begin);
    return {};
  }

  Result<void> quoted_cell() {
    const std::size_t opened = line_;
    ++position_;
    while (true) {
      if (at_end()) return malformed(opened, "a quote is opened here and never closed");
      const char c = text_[position_++];
      if (c == '"') {
        if (at_end() || text_[position_] != '"') break;
        ++position_;
      }
      if (c == '\0') return malformed(line_, "a zero byte; this is not a text file");
      if (c == '\n') ++line_;
      table_.text_ += c;
    }
    if (!at_end() && !ends_cell(text_[position_])) {
      return malformed(line_, "'" + std::string(1, text_[position_]) + "' after a closing quote");
    }
    return {};
  }

  /// The first line, already in the table, is its header or its first row. A rule that compares it with other rows
  /// decides later.
  void begin_table(std::size_t columns, const CsvOptions& options) {
    bool numbers = false;
    for (std::size_t c = 0; c < columns; ++c) table_.header_.push_back("c" + std::to_string(c));
    for (std::size_t c = 0; c < columns; ++c) numbers |= is_number(table_.cell(0, c));
    const bool at_once = options.header_rule == HeaderRule::kNoNumbers && !numbers;
    if (options.header.value_or(at_once)) table_.take_header();
  }

  std::string_view text_;
  char separator_;
  bool joins_blanks_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  CsvTable table_;
};

void CsvTable::forget_names() {
  for (std::size_t c = 0; c < header_.size(); ++c) header_[c] = "c" + std::to_string(c);
}

void CsvTable::take_header() {
  for (std::size_t c = 0; c < header_.size(); ++c) header_[c] = cell(0, c);
  has_header_ = true;
  begin_ = ends_[header_.size() - 1];
  ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(header_.size()));
}

Result<void> CsvTable::append(const CsvTable& other, const std::vector<std::size_t>& columns) {
  LANISTA_CHECK(columns.size() == header_.size(), "every column needs one of the other table");
  std::size_t bytes = text_.size();
  for (std::size_t row = 0; row < other.rows(); ++row) {
    for (const std::size_t column : columns) bytes += other.cell(row, column).size();
  }
  if (bytes > std::numeric_limits<std::uint32_t>::max()) {
    return Error{Code::kResourceExhausted, "csv: both tables together have 4 GiB of text or more", ""};
  }
  text_.reserve(bytes);
  for (std::size_t row = 0; row < other.rows(); ++row) {
    for (const std::size_t column : columns) {
      text_ += other.cell(row, column);
      ends_.push_back(static_cast<std::uint32_t>(text_.size()));
    }
  }
  return {};
}

std::string_view CsvTable::cell(std::size_t row, std::size_t column) const {
  const std::size_t i = row * header_.size() + column;
  const std::size_t begin = i == 0 ? begin_ : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    return Error{Code::kResourceExhausted, "csv: " + std::to_string(text.size()) + " bytes, allowed are below 4 GiB",
                 ""};
  }
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    return malformed(1, "the text is UTF-16; save it as UTF-8");
  }
  if (const auto bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    const auto newlines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    return malformed(static_cast<std::size_t>(newlines) + 1, "the text is not UTF-8 from here on; save it as UTF-8");
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const char named = options.finds_separator ? take_separator_line(text) : char{0};
  const char separator = options.separator != 0 ? options.separator
                         : named != 0           ? named
                                                : sniff_separator(text, options.finds_separator);
  return CsvReader(text, separator, options.joins_blanks && separator == ' ').table(options);
}

}  // namespace lanista::formats
