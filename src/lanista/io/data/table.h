#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/cell_notation.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/source.h"
#include "lanista/base/csv.h"

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
  std::string row_location(std::size_t row) const;
  /// Leaves out the rows that lack a value in one of the columns, and says how many they were.
  std::int64_t drop_rows_with_missing(const std::vector<std::size_t>& columns);
  /// The rows of a second file behind those of the first: its `columns[i]` under our i-th name. Errors:
  /// kResourceExhausted (4 GiB together).
  Result<void> add_file(const formats::CsvTable& cells, const std::vector<std::size_t>& columns, std::string name);
  /// The rows of the second file, ascending; none without one.
  std::vector<std::int64_t> rows_of_second_file() const;

 private:
  formats::CsvTable cells_;
  CellNotation notation_;
  std::vector<std::size_t> rows_;  ///< as they stand in `cells_`
  std::size_t first_file_ = 0;     ///< rows of `cells_` that are of the first file
  std::string second_name_;
};

/// A feature column before it is fitted.
struct ColumnDeclaration {
  std::size_t index = 0;
  std::optional<ColumnKind> kind;       ///< as declared; else a number if all present cells are numbers
  std::vector<std::string> categories;  ///< as declared; else those of the training rows
  std::int64_t max_categories = 0;  ///< if these are more: the most frequent, so many; 0: too many are an error
};

/// The columns by which rows are split.
struct SplitColumnRoles {
  std::optional<std::size_t> group, order;
};

/// Which columns of a table are what.
struct TableRoles {
  std::vector<std::size_t> targets;  ///< at least one
  std::string task = "auto";         ///< of the targets: auto | classes | numbers | multilabel
  std::vector<ColumnDeclaration> features;
  SplitColumnRoles by;
  std::optional<std::size_t> weight;   ///< how much a row counts in training
  std::optional<std::size_t> holdout_loss;  ///< a row's loss under a model that has not trained on it

  bool is_target(std::size_t column) const { return std::ranges::find(targets, column) != targets.end(); }
};
/// What targets may be said to be.
const std::vector<std::string>& table_tasks();

/// Takes group= and order= into `roles.by`, weight= into `roles.weight` and holdout= into `roles.holdout_loss`. Errors:
/// kInvalidArgument (no such column, a target, one for two of them).
Result<void> add_row_roles(const Source& source, const std::vector<std::string>& header, TableRoles& roles);

/// From target= (names, else numbers counted from 0, with commas between them; the last column if not given), drop=,
/// numeric=, categorical=, dates=, categories=, group=, order=, weight=, holdout= and task=. The columns of group= and
/// order= are no features, unless their kind is declared; those of weight= and holdout= are none. Errors:
/// kInvalidArgument (no such column; no column left; one declared twice; two of one name).
Result<TableRoles> roles_from_source(const Source& source, const std::vector<std::string>& header);

/// From a declared schema, {"columns": [{"name", "kind": "number"|"category"|"date", "categories"?}…], "target": {"name"
/// (or "names", a list), "kind"?: "classes"|"numbers"|"multilabel"}}: the columns listed, in that order. DataSpec::schema is one. Errors: kInvalidArgument
/// naming the entry.
Result<TableRoles> roles_from_schema(const nlohmann::json& schema, const std::vector<std::string>& header);

/// Columns to predict. In one, text, or at most 20 different whole numbers, are classes unless `task` says otherwise;
/// several are labels where all cells are 0 or 1 (or true, false, yes, no), else numbers.
struct TableTarget {
  std::vector<std::string> names;    ///< of classes, sorted (numbers by value); empty for numbers and labels
  std::vector<std::int32_t> labels;  ///< per row, for classes
  std::vector<float> numbers;        ///< [rows, columns], for numbers, and zeros and ones for labels
  bool multilabel = false;           ///< those are labels
  std::vector<std::size_t> unknown;  ///< rows without a target, ascending; zeros stand for what they lack
};
/// Errors: kDataLoss (a missing target, a text where task=numbers, one class only, neither labels nor numbers) with the
/// row, counted from 1; kInvalidArgument (task=classes of several columns).
Result<TableTarget> read_target(const Table& table, const std::vector<std::size_t>& columns, const std::string& task);

/// The same for what is known: classes where `names` holds them, else labels or numbers. Nothing if no row has a target;
/// a row that lacks one of several has none. Errors: kDataLoss (a class that is not known, no number, no label) with the
/// row.
Result<std::optional<TableTarget>> read_known_target(const Table& table, const std::vector<std::size_t>& columns,
                                                     const std::vector<std::string>& names, bool multilabel);

/// The weights of rows. Errors: kDataLoss (a cell without a number, or one below 0) with the row.
Result<std::vector<float>> read_weights(const Table& table, std::size_t column);
/// Hold-out losses of rows. Errors: kDataLoss (a cell without a finite number) with the row.
Result<std::vector<float>> read_holdout(const Table& table, std::size_t column);

/// Of a cell that is no number where one must be.
Error not_a_number_error(const std::string& column, const std::string& row_location, std::string_view text);

struct FittedColumns {
  std::vector<Column> columns;
  std::vector<std::string> data_warnings;  ///< on columns that may not be read as they were meant, and what to do about it
};
/// Fits the columns to the rows in `train`: means, deviations, categories. Errors: kDataLoss (more than 256 categories:
/// an identifier, no feature; a text in a column declared to be numbers or dates).
Result<FittedColumns> fit_columns(const Table& table, const std::vector<ColumnDeclaration>& features,
                                  const std::vector<std::int64_t>& train);

struct EncodedRows {
  std::vector<float> features;  ///< row-major, before normalisation
  std::int64_t missing = 0, unknown = 0;
  std::string first_unknown_location;  ///< where it is, if there is one
};
/// Rows as features: a number as it is or the column's mean where it is missing, and so the parts of a date; a category
/// as zeros and a one, all zeros where it is missing or unknown. Column i of `columns` lies in `indices[i]` of the
/// table. Errors: kDataLoss (a text where a number or a date should be), kResourceExhausted (more than kMaxFeatures
/// numbers).
Result<EncodedRows> encode_rows(const Table& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns);

/// The column called `requested`, else the one with that number. Errors: kInvalidArgument with the nearest name.
Result<std::size_t> find_column(const std::vector<std::string>& header, const std::string& requested);

}  // namespace lanista::data
