#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/csv.h"
#include "lanista/base/file_system.h"

namespace lanista::goodput {

/// A CSV file in memory, with named columns. Rows and columns are counted from 0.
class CsvColumns {
 public:
  /// Reads a file with a header line. Column i of the other functions is the one called `names[i]`; other columns are
  /// ignored.
  ///
  /// Errors: those of FileSystem::read; kDataLoss if it is not a table or lacks a column. Error::where is the path.
  static Result<CsvColumns> read(FileSystem& fs, const std::string& path, const std::vector<std::string>& names);

  /// Returns the number of rows without the header.
  std::size_t rows() const { return table_.rows(); }
  /// Returns the text of a cell. It is valid as long as this object.
  std::string_view text(std::size_t row, std::size_t column) const { return table_.cell(row, index_[column]); }
  /// Returns a cell as a finite number of at least `least`. Errors: kDataLoss for any other text, with row, column and
  /// value.
  Result<double> number(std::size_t row, std::size_t column, double least) const;
  /// Returns a cell as a whole number from `least` to 2^31. Errors: kDataLoss for any other text, with row, column and
  /// value.
  Result<std::int64_t> integer(std::size_t row, std::size_t column, std::int64_t least) const;
  /// Returns a kDataLoss error for a cell. It names the row (from 1), the column, the value and what is `wanted`.
  Error cell_error(std::size_t row, std::size_t column, const std::string& wanted) const;

 private:
  formats::CsvTable table_;
  std::vector<std::size_t> index_;
  std::string path_;
};

}  // namespace lanista::goodput
