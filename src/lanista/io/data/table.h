#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/csv.h"
#include "lanista/base/result.h"
#include "lanista/io/data/cell_notation.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/source.h"

namespace lanista::data {

/// The cells of a table file with their notation. Rows and columns are indices from 0; the header is no row.
class Table {
 public:
  /// A table with all rows of `cells`.
  Table(formats::CsvTable cells, CellNotation notation);

  const std::vector<std::string>& header() const { return cells_.header(); }  ///< names of the columns, in order
  std::size_t rows() const { return rows_.size(); }                           ///< number of rows that were not dropped
  /// The text of a cell without blanks around it; empty for a missing value. It points into the table.
  std::string_view text(std::size_t row, std::size_t column) const;
  /// The text of a cell without blanks around it, also that of a missing value. It points into the table.
  std::string_view cell(std::size_t row, std::size_t column) const;
  /// Lets a column keep the texts in notation().kept as values.
  void keep_na_in(std::size_t column) { keeps_na_[column] = true; }
  /// Lets text() return `names` for the texts of a column that boolean_of() reads: for each the name with its value. No
  /// change unless `names` are one or two texts with different values.
  void unify_booleans(std::size_t column, const std::vector<std::string>& names);
  bool has_header() const { return cells_.has_header(); }  ///< true: the first line of the file has the names
  /// The number that the text of a cell denotes; none if it is not a finite number.
  std::optional<double> number(std::string_view text) const { return notation_.number(text); }
  const CellNotation& notation() const { return notation_; }  ///< notation of numbers and missing values

  /// The location of a row for messages: "row 17", from 1 after the header, or "row 3 of test.csv" in a second file.
  std::string row_location(std::size_t row) const;
  /// The number of a row in its file, from 0 after the header.
  std::size_t row_in_file(std::size_t row) const {
    return rows_[row] < first_file_ ? rows_[row] : rows_[row] - first_file_;
  }
  /// Drops the rows without a value in at least one of `columns` and returns the number of dropped rows. Later rows get
  /// smaller indices.
  std::int64_t drop_rows_with_missing(const std::vector<std::size_t>& columns);
  /// Appends the rows of a second file, which row_location() calls `name`. Column i of this table gets column
  /// `columns[i]` of the file. Call it at most once. Errors: kResourceExhausted (more than 4 GiB of cells together).
  Result<void> add_file(const formats::CsvTable& cells, const std::vector<std::size_t>& columns, std::string name);
  /// The indices of rows of the second file that were not dropped, ascending; empty without a second file.
  std::vector<std::int64_t> rows_of_second_file() const;

 private:
  formats::CsvTable cells_;
  CellNotation notation_;
  std::vector<bool> keeps_na_;  ///< of each column
  /// By column: the names of false and true, where spellings of them are one value.
  std::map<std::size_t, std::array<std::string, 2>> booleans_;
  std::vector<std::size_t> rows_;  ///< row numbers in `cells_`
  std::size_t first_file_ = 0;     ///< rows of `cells_` from the first file
  std::string second_name_;
};

/// A feature column as the user or a schema declares it, before it is fitted to training rows.
struct ColumnDeclaration {
  std::size_t index = 0;           ///< Index of the column in the table, from 0.
  std::optional<ColumnKind> kind;  ///< As declared. None: a number if all present cells are numbers, else a category.
  std::vector<std::string> categories;  ///< As declared, sorted; empty: those of the training rows.
  /// Above 0: only so many of the most frequent categories count. 0: more than 256 is an error.
  std::int64_t max_categories = 0;
};

/// The indices of the columns by which rows are split into parts or folds; none: no such column.
struct SplitColumnRoles {
  std::optional<std::size_t> group, order;  ///< column of groups; column of times or positions in the order
};

/// The use of the columns of a table, by index from 0.
struct TableRoles {
  std::vector<std::size_t> targets;         ///< Target columns, at least one.
  std::string task = "auto";                ///< Kind of targets: auto, classes, numbers or multilabel.
  std::vector<ColumnDeclaration> features;  ///< Feature columns, in the order of features.
  SplitColumnRoles by;                      ///< Columns for the split.
  std::optional<std::size_t> weight;        ///< Column of weights in the training loss.

  /// True means that the column with this index is a target.
  bool is_target(std::size_t column) const { return std::ranges::find(targets, column) != targets.end(); }
};
/// The allowed values of option task= of a source. The reference is to a constant.
const std::vector<std::string>& table_tasks();

/// Reads group= and order= into `roles.by`, and weight= into `roles.weight`. Errors: kInvalidArgument (no such column;
/// a target column; both group= and order=).
Result<void> add_row_roles(const Source& source, const std::vector<std::string>& header, TableRoles& roles);

/// The roles of the columns in `header` from the options of a source: target=, drop=, numeric=, categorical=, dates=,
/// categories=, group=, order=, weight= and task=.
///
/// An option lists columns by name, or by index from 0, separated by commas. The default target is the last column. The
/// columns of group= and order= are features only if their kind is declared; that of weight= never is.
/// Errors: kInvalidArgument (no such column; no column left; a kind declared twice, or for a column that is no feature;
/// a target that is dropped; both group= and order=; two used columns of one name).
Result<TableRoles> roles_from_source(const Source& source, const std::vector<std::string>& header);

/// The roles of the columns in `header` from a schema: {"columns": [{"name", "kind": "number"|"category"|"date",
/// "categories"?}…], "target": {"name" (or "names", a list), "kind"?: "classes"|"numbers"|"multilabel"}}.
///
/// The features are the listed columns, in that order; columns for the split and the weight stay unset.
/// DataSpec::schema has this form, with more keys. After the first of the study's `rules` other keys are errors.
/// Errors: kInvalidArgument (an invalid entry or an unknown key, with the nearest one; a column that `header` lacks).
Result<TableRoles> roles_from_schema(const nlohmann::json& schema, const std::vector<std::string>& header,
                                     std::int64_t rules = study::kLatestRules);

/// The targets of the rows of a table.
///
/// One column of texts, or of whole numbers by the rule of are_classes(), gives classes, unless `task` demands
/// otherwise. Numbers are classes by value: 1 and 1.0 are one. Several columns are classes if each row has a single one
/// among zeros, labels if all cells are 0 or 1 (or true, false, yes, no), else numbers. With the first rules of studies
/// at most 20 different whole numbers are classes, by their texts, and several columns never are.
struct TableTarget {
  std::vector<std::string> names;    ///< Class names, sorted (numbers by value); empty for numbers and labels.
  std::vector<std::int32_t> labels;  ///< For classes: index into `names` [rows].
  std::vector<float> numbers;        ///< For numbers and labels (0 or 1): [rows, columns].
  bool multilabel = false;           ///< True: `numbers` are labels.
  std::vector<std::size_t> unknown;  ///< Rows without a target, ascending; their targets are 0.
  std::string decision = {};         ///< What the target is read as, for users; empty if only one reading is possible.
};
/// Reads the targets of all rows from `columns`; `task` is as TableRoles::task. Errors: kDataLoss with the row, from 1
/// (a missing target, a text where task=numbers, only one class or more than 10,000, neither labels nor numbers);
/// kInvalidArgument (task=classes of several columns that are not one-hot).
Result<TableTarget> read_target(const Table& table, const std::vector<std::size_t>& columns, const std::string& task);

/// Reads the targets of new rows for a trained model: classes if `names` has class names, else labels or numbers.
///
/// None if no row has a target. A row that lacks one of several counts as a row without targets. With several columns
/// and class names, rows are one-hot. Errors: kDataLoss with the row (an unknown class, no valid number, no label).
Result<std::optional<TableTarget>> read_known_target(const Table& table, const std::vector<std::size_t>& columns,
                                                     const std::vector<std::string>& names, bool multilabel);

/// The weight of each row in the training loss, from `column`. Errors: kDataLoss with the row (a cell without a number,
/// or a number below 0).
Result<std::vector<float>> read_weights(const Table& table, std::size_t column);
/// The error (kDataLoss) for a number that a float cannot hold, such as 1e39.
Error beyond_float_error(const std::string& column, const std::string& row_location, std::string_view text);
/// The error (kDataLoss) for a cell that must be a number and has the text `text`.
Error not_a_number_error(const std::string& column, const std::string& row_location, std::string_view text);

/// Feature columns after the fit to training rows.
struct FittedColumns {
  std::vector<Column> columns;  ///< With statistics and categories, in the order of declarations.
  std::vector<double> origin;   ///< The origin of each feature (origin.h); empty: none needs one.
  /// texts for the user on columns that may be read in an unintended way, or of which rare categories are left out
  std::vector<std::string> data_warnings;
};
/// Fits the declared columns to the rows in `train` (indices): means, deviations, categories that are not declared. All
/// rows decide kinds, minima, maxima and counts. Errors: kDataLoss (more than 256
/// categories, which suggest an identifier; a text in a column that is declared as numbers or dates).
Result<FittedColumns> fit_columns(const Table& table, const std::vector<ColumnDeclaration>& features,
                                  const std::vector<std::int64_t>& train);

/// The rows of a table as features.
struct EncodedRows {
  std::vector<float> features;         ///< [rows, features], before normalisation
  std::int64_t missing = 0;            ///< number of cells without a value
  std::int64_t unknown = 0;            ///< number of cells with a category that the column lacks or lists as unseen
  std::string first_unknown_location;  ///< row, text and column of the first cell with one; or empty
};
/// Encodes all rows of the table as features. Column i of `columns` is column `indices[i]` of the table.
///
/// A number is one feature; the column's mean, or NaN with keeps_missing, replaces a missing one. Parts of a date are
/// treated alike. `origin`, with a number for each equal run of features or empty, is subtracted in double. A category
/// is a one among zeros; a missing or unknown one gives only zeros. Errors: kDataLoss (a text in place of a number or a
/// date), kResourceExhausted (more than kMaxFeatures numbers).
Result<EncodedRows> encode_rows(const Table& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns, std::span<const double> origin = {});

/// The index of the column with the name `requested`, else `requested` itself as an index from 0, else the column of
/// index_of_name() for it or for unescaped(requested). Errors: kInvalidArgument (none of these, with the nearest name;
/// several columns of that name).
Result<std::size_t> find_column(const std::vector<std::string>& header, const std::string& requested);

/// The index of the first column with the name `name`, else of the only one that differs from it in blanks around it.
std::optional<std::size_t> index_of_name(const std::vector<std::string>& header, const std::string& name);

/// How an option of a source names a column: its name with codes for commas and '&', or its index where the name is
/// empty or not unique.
std::string column_in_option(const std::vector<std::string>& header, std::size_t column);

}  // namespace lanista::data
