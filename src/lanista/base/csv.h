#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// A table of text cells (RFC 4180 quoting). Every row has the same number of cells. All cells lie in one text, so that
/// a table takes at most four bytes for every byte of its file.
class CsvTable {
 public:
  CsvTable() = default;

  const std::vector<std::string>& header() const { return header_; }  ///< "c0", "c1", … when the file has none
  std::size_t columns() const { return header_.size(); }
  std::size_t rows() const { return header_.empty() ? 0 : ends_.size() / header_.size(); }
  /// Valid as long as the table.
  std::string_view cell(std::size_t row, std::size_t column) const;
  /// The rows of another table behind these: its `columns[i]` under our i-th name. Errors: kResourceExhausted (4 GiB and
  /// more); then nothing is changed.
  Result<void> append(const CsvTable& other, const std::vector<std::size_t>& columns);

 private:
  friend class CsvReader;

  std::vector<std::string> header_;
  std::string text_;                 ///< all cells without quotes, row by row
  std::vector<std::uint32_t> ends_;  ///< where each cell ends in text_
};

struct CsvOptions {
  char separator = 0;          ///< 0: comma, semicolon or tab, whichever the first line has most of
  std::optional<bool> header;  ///< nullopt: a first line without any number is a header
};

/// Errors: kDataLoss with "line N" for what is not UTF-8, ragged rows, stray quotes, a missing closing quote, more than
/// 10,000 columns; kResourceExhausted for 4 GiB and more.
Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options = {});

}  // namespace lanista::formats
