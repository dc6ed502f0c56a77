#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/csv.h"
#include "lanista/base/result.h"
#include "lanista/io/data/cell_notation.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/source.h"

namespace lanista::data {

/// The rows of a file of cells, with the notation of its cells.
class Table {
 public:
  /// A table of all rows of `cells`.
  Table(formats::CsvTable cells, CellNotation notation);

  const std::vector<std::string>& header() const { return cells_.header(); }  ///< names of columns
  std::size_t rows() const { return rows_.size(); }                           ///< rows that were not dropped
  /// The text of a cell; empty for a missing value. Valid as long as the table.
  std::string_view text(std::size_t row, std::size_t column) const;
  /// The number of a cell's text.
  std::optional<double> number(std::string_view text) const { return notation_.number(text); }
  const CellNotation& notation() const { return notation_; }  ///< how cells are read

  /// The location of a row for messages: "row 17", from 1 after the header, or "row 3 of test.csv" in a second file.
  std::string row_location(std::size_t row) const;
  /// Drops the rows without a value in one of the columns and returns their number.
  std::int64_t drop_rows_with_missing(const std::vector<std::size_t>& columns);
  /// Appends the rows of a second file. Column i of this table gets column `columns[i]` of the file. Errors:
  /// kResourceExhausted (4 GiB together).
  Result<void> add_file(const formats::CsvTable& cells, const std::vector<std::size_t>& columns, std::string name);
  /// The rows of the second file, ascending; empty without one.
  std::vector<std::int64_t> rows_of_second_file() const;

 private:
  formats::CsvTable cells_;
  CellNotation notation_;
  std::vector<std::size_t> rows_;  ///< row numbers in `cells_`
  std::size_t first_file_ = 0;     ///< rows of `cells_` from the first file
  std::string second_name_;
};

/// A feature column before it is fitted.
struct ColumnDeclaration {
  std::size_t index = 0;                ///< Number of the column in the table.
  std::optional<ColumnKind> kind;       ///< As declared; none: a number if all present cells are numbers.
  std::vector<std::string> categories;  ///< As declared; empty: those of the training rows.
  std::int64_t max_categories = 0;      ///< Keeps the most frequent ones of more; 0: more than allowed is an error.
};

/// The columns by which rows are split.
struct SplitColumnRoles {
  std::optional<std::size_t> group, order;  ///< column of groups, column of times
};

/// The use of each column of a table.
struct TableRoles {
  std::vector<std::size_t> targets;         ///< at least one
  std::string task = "auto";                ///< auto | classes | numbers | multilabel
  std::vector<ColumnDeclaration> features;  ///< in order
  SplitColumnRoles by;                      ///< for the split
  std::optional<std::size_t> weight;        ///< weights of rows in the training loss
  std::optional<std::size_t> holdout_loss;  ///< losses of rows under a model that has not trained on them

  /// Whether a column is a target.
  bool is_target(std::size_t column) const { return std::ranges::find(targets, column) != targets.end(); }
};
/// The values of option task=.
const std::vector<std::string>& table_tasks();

/// Reads group= and order= into `roles.by`, weight= into `roles.weight` and holdout= into `roles.holdout_loss`. Errors:
/// kInvalidArgument (no such column, a target, one column for two of them).
Result<void> add_row_roles(const Source& source, const std::vector<std::string>& header, TableRoles& roles);

/// The roles from the options of a source: target=, drop=, numeric=, categorical=, dates=, categories=, group=, order=,
/// weight=, holdout= and task=.
///
/// Columns are names, or else numbers from 0, separated by commas. The default target is the last column. The columns
/// of group= and order= are features only if their kind is declared; those of weight= and holdout= never are. Errors:
/// kInvalidArgument (no such column; no column left; one declared twice; two of one name).
Result<TableRoles> roles_from_source(const Source& source, const std::vector<std::string>& header);

/// The roles from a schema: {"columns": [{"name", "kind": "number"|"category"|"date", "categories"?}…], "target":
/// {"name" (or "names", a list), "kind"?: "classes"|"numbers"|"multilabel"}}.
///
/// The features are the listed columns, in that order. DataSpec::schema has this form. Errors: kInvalidArgument with
/// the entry.
Result<TableRoles> roles_from_schema(const nlohmann::json& schema, const std::vector<std::string>& header);

/// The targets of a table.
///
/// One column of texts, or of at most 20 different whole numbers, gives classes, unless `task` demands otherwise.
/// Several columns are labels if all cells are 0 or 1 (or true, false, yes, no), else numbers.
struct TableTarget {
  std::vector<std::string> names;    ///< Of classes, sorted (numbers by value); empty for numbers and labels.
  std::vector<std::int32_t> labels;  ///< [rows], for classes.
  std::vector<float> numbers;        ///< [rows, columns], for numbers and for labels (0 or 1).
  bool multilabel = false;           ///< Whether `numbers` are labels.
  std::vector<std::size_t> unknown;  ///< Rows without a target, ascending; they have zeros.
};
/// Reads the targets. Errors: kDataLoss with the row, from 1 (a missing target, a text where task=numbers, only one
/// class, neither labels nor numbers); kInvalidArgument (task=classes of several columns).
Result<TableTarget> read_target(const Table& table, const std::vector<std::size_t>& columns, const std::string& task);

/// Reads targets of new rows: classes if `names` has their names, else labels or numbers.
///
/// None if no row has a target. A row that lacks one of several counts as a row without targets. Errors: kDataLoss with
/// the row (an unknown class, no valid number, no label).
Result<std::optional<TableTarget>> read_known_target(const Table& table, const std::vector<std::size_t>& columns,
                                                     const std::vector<std::string>& names, bool multilabel);

/// Reads the weights of rows. Errors: kDataLoss with the row (a cell without a number, or a number below 0).
Result<std::vector<float>> read_weights(const Table& table, std::size_t column);
/// Reads the hold-out losses of rows. Errors: kDataLoss with the row (a cell without a finite number).
Result<std::vector<float>> read_holdout(const Table& table, std::size_t column);

/// The error for a cell that must be a number and is not.
Error not_a_number_error(const std::string& column, const std::string& row_location, std::string_view text);

/// Columns that were fitted to training rows.
struct FittedColumns {
  std::vector<Column> columns;             ///< with statistics and categories
  std::vector<std::string> data_warnings;  ///< sentences for the user on columns that may be read in an unintended way
};
/// Fits the columns to the rows in `train`: means, deviations, categories. Errors: kDataLoss (more than 256 categories,
/// which suggest an identifier; a text in a column that is declared as numbers or dates).
Result<FittedColumns> fit_columns(const Table& table, const std::vector<ColumnDeclaration>& features,
                                  const std::vector<std::int64_t>& train);

/// Rows of a table as features.
struct EncodedRows {
  std::vector<float> features;         ///< row-major, before normalisation
  std::int64_t missing = 0;            ///< cells without a value
  std::int64_t unknown = 0;            ///< cells with an unknown category
  std::string first_unknown_location;  ///< of the first such cell, if there is one
};
/// Encodes rows as features. Column i of `columns` is column `indices[i]` of the table.
///
/// A number is one feature; the column's mean replaces a missing one. Parts of a date are treated alike. A category is
/// a one among zeros; a missing or unknown one gives only zeros. Errors: kDataLoss (a text in place of a number or a
/// date), kResourceExhausted (more than kMaxFeatures numbers).
Result<EncodedRows> encode_rows(const Table& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns);

/// The column with the name `requested`, else the column with that number. Errors: kInvalidArgument with the nearest
/// name.
Result<std::size_t> find_column(const std::vector<std::string>& header, const std::string& requested);

}  // namespace lanista::data
