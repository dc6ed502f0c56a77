#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/csv.h"
#include "lanista/base/file_system.h"

namespace lanista::cluster {

/// A CSV file with named columns.
class CsvColumns {
 public:
  /// Errors: those of the file system; kDataLoss for what is no table or lacks a column; `where` is the path.
  static Result<CsvColumns> read(FileSystem& fs, const std::string& path, const std::vector<std::string>& names);

  std::size_t rows() const { return table_.rows(); }
  std::string_view text(std::size_t row, std::size_t column) const { return table_.cell(row, index_[column]); }
  /// A finite number of at least `least`. Errors: kDataLoss with row, column and what stands there.
  Result<double> number(std::size_t row, std::size_t column, double least) const;
  /// A whole number of at least `least` and at most 2^31.
  Result<std::int64_t> integer(std::size_t row, std::size_t column, std::int64_t least) const;
  Error cell_error(std::size_t row, std::size_t column, const std::string& wanted) const;

 private:
  formats::CsvTable table_;
  std::vector<std::size_t> index_;
  std::string path_;
};

}  // namespace lanista::cluster
