#include "lanista/plan/goodput/csv_columns.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/parse_number.h"

namespace lanista::goodput {

Result<CsvColumns> CsvColumns::read(FileSystem& fs, const std::string& path, const std::vector<std::string>& names) {
  LANISTA_ASSIGN(const std::string text, fs.read(path, 0));
  auto table = formats::parse_csv(text, {.separator = ',', .header = true});
  if (!table) return Error{table.error().code, table.error().message, path};
  CsvColumns columns;
  columns.table_ = *std::move(table);
  columns.path_ = path;
  for (const std::string& name : names) {
    const auto& header = columns.table_.header();
    const auto found = std::ranges::find(header, name);
    if (found == header.end()) return Error{Code::kDataLoss, "column " + name + " is missing", path};
    columns.index_.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return columns;
}

Error CsvColumns::cell_error(std::size_t row, std::size_t column, const std::string& wanted) const {
  return {Code::kDataLoss,
          "row " + std::to_string(row + 1) + ": " + table_.header()[index_[column]] + " is '" +
              std::string(text(row, column)) + "'; " + wanted + " is needed",
          path_};
}

Result<double> CsvColumns::number(std::size_t row, std::size_t column, double least) const {
  const auto value = parse_number<double>(text(row, column));
  if (value && std::isfinite(*value) && *value >= least) return *value;
  return cell_error(row, column, "a number of at least " + std::to_string(least));
}

Result<std::int64_t> CsvColumns::integer(std::size_t row, std::size_t column, std::int64_t least) const {
  LANISTA_ASSIGN(const double value, number(row, column, static_cast<double>(least)));
  if (value != std::floor(value) || value > 2147483648.0) {
    return cell_error(row, column, "a whole number of at least " + std::to_string(least));
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace lanista::goodput
