#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/data/columns.h"
#include "lanista/data/source.h"
#include "lanista/formats/csv.h"

namespace lanista::data {

/// A feature column before it is fitted.
struct RawColumn {
  std::size_t index = 0;
  std::optional<ColumnKind> kind;       ///< as declared; else a number if all present cells are numbers
  std::vector<std::string> categories;  ///< as declared; else those of the training rows
};

/// Which columns of a table are what.
struct TableRoles {
  std::size_t target = 0;
  std::string task = "auto";  ///< of the target: auto | classes | numbers
  std::vector<RawColumn> features;
};
/// From target= (a name, else a number counted from 0; the last column if not given), drop=, numeric=, categorical= and
/// task=. Errors: kInvalidArgument (no such column; no column left; one declared twice; two of one name).
Result<TableRoles> choose_roles(const Source& source, const std::vector<std::string>& header);

/// From a declared schema, {"columns": [{"name", "kind": "number"|"category", "categories"?}…], "target": {"name",
/// "kind"?: "classes"|"numbers"}}: the columns listed, in that order. DataSpec::schema is one. Errors: kInvalidArgument
/// naming the entry.
Result<TableRoles> declared_roles(const nlohmann::json& schema, const std::vector<std::string>& header);

/// A column to predict. Text, or at most 20 different whole numbers, are classes unless `task` says otherwise.
struct TableTarget {
  std::vector<std::string> names;    ///< of classes, sorted (numbers by value); empty for numbers
  std::vector<std::int32_t> labels;  ///< per row, for classes
  std::vector<float> numbers;        ///< per row, for numbers
};
/// Errors: kDataLoss (a missing target, a text where task=numbers, one class only) with the row, counted from 1.
Result<TableTarget> read_target(const formats::CsvTable& table, std::size_t column, const std::string& task);

/// The same for classes that are known, or for numbers where `names` is empty. Nothing if no row has a target. Errors:
/// kDataLoss (a class that is not known, a target that is missing in some rows) with the row.
Result<std::optional<TableTarget>> read_known_target(const formats::CsvTable& table, std::size_t column,
                                                     const std::vector<std::string>& names);

/// Fits the columns to the rows in `train`: means, deviations, categories. Errors: kDataLoss (more than 256 categories:
/// an identifier, no feature; a text in a column declared to be numbers).
Result<std::vector<Column>> fit_columns(const formats::CsvTable& table, const std::vector<RawColumn>& features,
                                        const std::vector<std::int64_t>& train);

struct EncodedRows {
  std::vector<float> features;  ///< row-major, before normalisation
  std::int64_t missing = 0, unknown = 0;
};
/// Rows as features: a number as it is or the column's mean where it is missing; a category as zeros and a one, all
/// zeros where it is missing or unknown. Column i of `columns` lies in `indices[i]` of the table. Errors: kDataLoss (a
/// text where a number should be), kResourceExhausted (more than kMaxFeatures numbers).
Result<EncodedRows> encode_rows(const formats::CsvTable& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns);

/// The column called `wanted`, else the one with that number. Errors: kInvalidArgument with the nearest name.
Result<std::size_t> find_column(const std::vector<std::string>& header, const std::string& wanted);

/// The cell without spaces around it; empty if it says that a value is missing ("", "?", "NA", "N/A", "nan", "null").
std::string_view cell_text(std::string_view cell);
/// The cell as a finite number.
std::optional<double> cell_number(std::string_view cell);

}  // namespace lanista::data
