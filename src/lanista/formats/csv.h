#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// A table of text cells (RFC 4180 quoting). Every row has the same number of cells.
struct CsvTable {
  std::vector<std::string> header;  ///< "c0", "c1", … when the file has none
  std::vector<std::vector<std::string>> rows;
};

struct CsvOptions {
  char separator = 0;          ///< 0: comma, semicolon or tab, whichever the first line has most of
  std::optional<bool> header;  ///< nullopt: a first line without any number is a header
};

/// Errors: kDataLoss with "line N" for ragged rows, stray quotes, a missing closing quote, more than 10,000 columns.
Result<CsvTable> parse_csv(std::string_view text, const CsvOptions& options = {});

}  // namespace lanista::formats
