#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/result.h"

namespace lanista {

/// Rows of text cells under named columns, such as new rows for a model.
struct Table {
  std::vector<std::string> columns;            ///< One name for each column.
  std::vector<std::vector<std::string>> rows;  ///< One cell for each column; an empty cell is a missing value.
};

/// Reads a table from CSV text with a header in the first line. The separator is comma, semicolon or tab. Errors:
/// kDataLoss with the line (invalid UTF-8, rows of different length, stray quotes).
Result<Table> parse_csv_table(std::string_view text);

/// Returns the table as CSV text with a header (RFC 4180). Errors: kInvalidArgument (no column, or a row of another
/// length).
Result<std::string> csv_text(const Table& table);

}  // namespace lanista
