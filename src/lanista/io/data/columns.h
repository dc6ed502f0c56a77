#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/cell_notation.h"
#include "lanista/io/data/normalization.h"

namespace lanista::data {

/// The kind of a feature column of a table, which decides how its cells become features.
enum class ColumnKind { kNumber, kCategory, kDate };

/// Statistics of one feature over rows of a table, without missing cells.
struct NumberStats {
  /// Mean and deviation (1 if it is 0) over the training rows; the mean replaces a missing number.
  double mean = 0, scale = 1;
  double min = 0, max = 0;  ///< over all rows
};

/// A feature column of a table: its kind, and how its cells become features.
struct Column {
  std::string name;                       ///< Name in the header of the table.
  ColumnKind kind = ColumnKind::kNumber;  ///< How cells are read.
  NumberStats stats;                      ///< For kNumber: statistics of its one feature.
  std::vector<std::string> categories;    ///< For kCategory: its texts, sorted by bytes, one feature each.
  /// Those of `categories` that no training row of the fold has, sorted. A cell with one of them gives zeros in all
  /// features of the column, as an unknown category does.
  std::vector<std::string> unseen;
  /// For kDate: statistics of the first entries of kDateParts, and with elapsed_from of the elapsed days, one feature
  /// each.
  std::vector<NumberStats> parts;
  /// For kDate: the second since 1970 from which the days of the last part are counted, that of the earliest date of
  /// the training rows. None: there is no such part, as with the first rules of studies.
  std::optional<std::int64_t> elapsed_from;
  /// True: a missing number or date is encoded as NaN, which a later step replaces. False: as the mean.
  bool keeps_missing = false;
  std::int64_t missing = 0;  ///< Number of cells without a value, in all rows of the data set.
  std::int64_t unique = 0;   ///< Number of different texts with a value, in all rows of the data set.

  /// Number of features that the column gives: 1, its categories, or its parts of a date.
  std::int64_t width() const;
  /// The name of a part of a date: that in kDateParts, or "elapsed".
  const char* part_name(std::size_t part) const;
  /// The value of a part of a date. Precondition: `part` is an index into `parts`.
  double part_value(std::size_t part, const Date& date) const;
};

/// The columns as a JSON list of objects, the entry "columns" of DataSpec::schema. All have "name", "kind", "missing",
/// "unique" and "missing_becomes" ("mean", "nan" or "zeros"). A number has "mean", "scale", "min" and "max"; a date has
/// "parts", each with these and "part", and "from" for the elapsed days; a category has "categories" and, if there are
/// any, "unseen".
nlohmann::json columns_json(const std::vector<Column>& columns);
/// Reads what columns_json() wrote. Errors: kDataLoss (no list, or a missing or invalid entry, with the index of its
/// column).
Result<std::vector<Column>> parse_columns(const nlohmann::json& json);

/// The normalisation of encoded rows, one entry for each feature. Numbers and parts of dates have their mean and scale.
/// Features of categories have mean 0 and scale 1, so that a rare category does not get a large weight.
Normalization normalization_of(const std::vector<Column>& columns);

}  // namespace lanista::data
