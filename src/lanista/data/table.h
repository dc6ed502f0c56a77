#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/data/cell.h"
#include "lanista/data/columns.h"
#include "lanista/data/source.h"
#include "lanista/formats/csv.h"

namespace lanista::data {

/// The rows of a file of cells, and how its cells are read.
class Table {
 public:
  Table(formats::CsvTable cells, CellNotation notation);

  const std::vector<std::string>& header() const { return cells_.header(); }
  std::size_t rows() const { return rows_.size(); }
  /// The cell's text, empty where there is no value. Valid as long as the table.
  std::string_view text(std::size_t row, std::size_t column) const;
  /// The number that a text of a cell is.
  std::optional<double> number(std::string_view text) const { return notation_.number(text); }
  const CellNotation& notation() const { return notation_; }

  /// Where a row stands: "row 17", counted from 1 behind the header, "row 3 of test.csv" in a second file.
  std::string place(std::size_t row) const;
  /// Leaves out the rows without a value in a column, and says how many they were.
  std::int64_t leave_out_missing(std::size_t column);
  /// The rows of a second file behind those of the first: its `columns[i]` under our i-th name. Errors:
  /// kResourceExhausted (4 GiB together).
  Result<void> add_file(const formats::CsvTable& cells, const std::vector<std::size_t>& columns, std::string name);
  /// The rows of the second file, ascending; none without one.
  std::vector<std::int64_t> second_file() const;

 private:
  formats::CsvTable cells_;
  CellNotation notation_;
  std::vector<std::size_t> rows_;  ///< as they stand in `cells_`
  std::size_t first_file_ = 0;     ///< rows of `cells_` that are of the first file
  std::string second_name_;
};

/// A feature column before it is fitted.
struct RawColumn {
  std::size_t index = 0;
  std::optional<ColumnKind> kind;       ///< as declared; else a number if all present cells are numbers
  std::vector<std::string> categories;  ///< as declared; else those of the training rows
};

/// The columns by which rows are split.
struct SplitColumns {
  std::optional<std::size_t> group, order;
};

/// Which columns of a table are what.
struct TableRoles {
  std::size_t target = 0;
  std::string task = "auto";  ///< of the target: auto | classes | numbers
  std::vector<RawColumn> features;
  SplitColumns by;
};
/// From group= and order=. Errors: kInvalidArgument (no such column, the target, both).
Result<SplitColumns> split_columns(const Source& source, const std::vector<std::string>& header, std::size_t target);

/// From target= (a name, else a number counted from 0; the last column if not given), drop=, numeric=, categorical=,
/// dates=, group=, order= and task=. The columns of group= and order= are no features, unless their kind is declared.
/// Errors: kInvalidArgument (no such column; no column left; one declared twice; two of one name).
Result<TableRoles> choose_roles(const Source& source, const std::vector<std::string>& header);

/// From a declared schema, {"columns": [{"name", "kind": "number"|"category"|"date", "categories"?}…], "target": {"name",
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
Result<TableTarget> read_target(const Table& table, std::size_t column, const std::string& task);

/// The same for classes that are known, or for numbers where `names` is empty. Nothing if no row has a target. Errors:
/// kDataLoss (a class that is not known, a target that is missing in some rows) with the row.
Result<std::optional<TableTarget>> read_known_target(const Table& table, std::size_t column,
                                                     const std::vector<std::string>& names);

struct FittedColumns {
  std::vector<Column> columns;
  std::vector<std::string> remarks;  ///< on columns that may not be read as they were meant, and what to do about it
};
/// Fits the columns to the rows in `train`: means, deviations, categories. Errors: kDataLoss (more than 256 categories:
/// an identifier, no feature; a text in a column declared to be numbers or dates).
Result<FittedColumns> fit_columns(const Table& table, const std::vector<RawColumn>& features,
                                  const std::vector<std::int64_t>& train);

struct EncodedRows {
  std::vector<float> features;  ///< row-major, before normalisation
  std::int64_t missing = 0, unknown = 0;
  std::string first_unknown;  ///< where it is, if there is one
};
/// Rows as features: a number as it is or the column's mean where it is missing, and so the parts of a date; a category
/// as zeros and a one, all zeros where it is missing or unknown. Column i of `columns` lies in `indices[i]` of the
/// table. Errors: kDataLoss (a text where a number or a date should be), kResourceExhausted (more than kMaxFeatures
/// numbers).
Result<EncodedRows> encode_rows(const Table& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns);

/// The column called `wanted`, else the one with that number. Errors: kInvalidArgument with the nearest name.
Result<std::size_t> find_column(const std::vector<std::string>& header, const std::string& wanted);

}  // namespace lanista::data
