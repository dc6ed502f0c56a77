#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/data/source.h"
#include "lanista/formats/csv.h"

namespace lanista::data {

/// Which columns of a table are what.
struct TableRoles {
  std::size_t target = 0;
  std::vector<std::size_t> features;
};
/// From target= (a name, else a number counted from 0; the last column if not given) and drop=. Errors:
/// kInvalidArgument (no such column; no column left).
Result<TableRoles> choose_roles(const Source& source, const std::vector<std::string>& header);

/// A column to predict. Text, or at most 20 different whole numbers, are classes unless `task` says otherwise.
struct TableTarget {
  std::vector<std::string> names;    ///< of classes, sorted (numbers by value); empty for numbers
  std::vector<std::int32_t> labels;  ///< per row, for classes
  std::vector<float> numbers;        ///< per row, for numbers
};
/// Errors: kDataLoss (a missing target, a text where task=numbers, one class only) with the row, counted from 1.
Result<TableTarget> read_target(const formats::CsvTable& table, std::size_t column, const std::string& task);

/// Columns as numbers, fitted on the rows in `train`: numeric columns with their mean and deviation, missing values
/// replaced by the mean; other columns as one feature a category (sorted by bytes), where a missing or unknown category
/// is all zeros. A column is numeric if all its present cells are.
struct EncodedColumns {
  std::vector<float> features;      ///< row-major, before normalisation
  std::vector<double> mean, scale;  ///< per feature
  nlohmann::json columns;           ///< how: name, kind, mean, scale, missing | categories
};
/// Errors: kDataLoss (more than 256 categories: an identifier, no feature).
Result<EncodedColumns> encode_columns(const formats::CsvTable& table, const std::vector<std::size_t>& columns,
                                      const std::vector<std::int64_t>& train);

/// The cell without spaces around it; empty if it says that a value is missing ("", "?", "NA", "N/A", "nan", "null").
std::string_view cell_text(std::string_view cell);
/// The cell as a finite number.
std::optional<double> cell_number(std::string_view cell);

}  // namespace lanista::data
