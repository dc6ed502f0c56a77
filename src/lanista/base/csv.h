#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// A table of text cells, as read from a CSV file (RFC 4180 quoting). Every row has the same number of cells. All cells
/// are in one text, so that a table needs at most four bytes for every byte of its file.
class CsvTable {
 public:
  CsvTable() = default;

  const std::vector<std::string>& header() const { return header_; }  ///< column names; "c0", "c1", … if it has none
  std::size_t columns() const { return header_.size(); }              ///< number of cells of a row
  /// Number of rows, without the header.
  std::size_t rows() const { return header_.empty() ? 0 : ends_.size() / header_.size(); }
  /// The text of one cell, without quotes. Row and column count from 0, without the header; they are not checked. The
  /// view is valid until the table changes or ends.
  std::string_view cell(std::size_t row, std::size_t column) const;
  /// Appends the rows of another table. Column i of this table gets column `columns[i]` of `other`; the size of
  /// `columns` must be columns(). Errors: kResourceExhausted if the cells would have 4 GiB or more; the table is
  /// unchanged then.
  Result<void> append(const CsvTable& other, const std::vector<std::size_t>& columns);
  /// Replaces the names of the columns by "c0", "c1", … as without a header.
  void forget_names();
  bool has_header() const { return has_header_; }  ///< true: the first line of the file has the names of the columns
  /// True: the program decided about the header, and the other reading of the first line is possible too.
  bool is_header_doubtful() const { return is_header_doubtful_; }

 private:
  friend class CsvReader;
  void take_header();

  std::vector<std::string> header_;
  bool has_header_ = false, is_header_doubtful_ = false;
  std::size_t begin_ = 0;            ///< where the first cell begins in text_
  std::string text_;                 ///< all cells without quotes, row by row
  std::vector<std::uint32_t> ends_;  ///< where each cell ends in text_
};

/// The rule by which a first line is a header.
enum class HeaderRule {
  kNoNumbers,   ///< It is one if no cell of it is a number.
  kTypesBelow,  ///< decide_header() compares it with the rows below.
};

/// How to interpret a CSV file.
struct CsvOptions {
  char separator = 0;               ///< 0: the most frequent of comma, semicolon and tab in the first line
  std::optional<bool> header = {};  ///< true: line 1 is a header; absent: header_rule decides
  HeaderRule header_rule = HeaderRule::kNoNumbers;  ///< the rule without `header`
  std::vector<std::string> known_names = {};        ///< for kTypesBelow: names that a header may have
  /// True: '|' separates cells if the first line has none of the usual separators. A first line "sep=;", which
  /// spreadsheets read, names the separator. It is left out.
  bool finds_separator = false;
  bool joins_blanks = false;  ///< true, with a blank as separator: several are one, and those around a line are none
};

/// Reads a CSV table from the bytes of a file. Empty lines and a byte order mark are skipped.
///
/// Errors: kDataLoss with "line N" for a text without rows, invalid UTF-8, a zero byte, rows of different length. Also
/// for misplaced quotes, a missing closing quote, or over 10,000 columns. kResourceExhausted for 4 GiB or more.
Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options = {});

}  // namespace lanista::formats
