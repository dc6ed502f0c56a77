#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/normalization.h"

namespace lanista::data {

/// The kind of a feature column of a table.
enum class ColumnKind { kNumber, kCategory, kDate };

/// Statistics of the numbers of one feature.
struct NumberStats {
  double mean = 0, scale = 1;  ///< of the training rows; the mean replaces a missing number
  double min = 0, max = 0;     ///< of all rows
};

/// A feature column of a table: its kind, and how its cells become features.
struct Column {
  std::string name;                       ///< In the header.
  ColumnKind kind = ColumnKind::kNumber;  ///< How cells are read.
  NumberStats stats;                      ///< For numbers.
  std::vector<std::string> categories;    ///< For categories: sorted by bytes, one feature each.
  /// The categories that no training row of the fold has, sorted. They become zeros in all features, as unknown ones
  /// do.
  std::vector<std::string> unseen;
  std::vector<NumberStats> parts;  ///< For dates: the first of kDateParts, one feature each.
  /// Whether a missing number or date stays NaN. The user of the features replaces it.
  bool keeps_missing = false;
  std::int64_t missing = 0;  ///< Cells without a value.
  std::int64_t unique = 0;   ///< Different values.

  /// Number of features of the column.
  std::int64_t width() const;
};

nlohmann::json columns_json(const std::vector<Column>& columns);  ///< columns as JSON for a schema
/// Reads what columns_json() wrote. Errors: kDataLoss with the column and the entry.
Result<std::vector<Column>> parse_columns(const nlohmann::json& json);

/// The normalisation of encoded rows. Numbers and parts of dates have their own mean and deviation. Features of
/// categories stay 0 and 1: a rare category, scaled, would outweigh everything else.
Normalization normalization_of(const std::vector<Column>& columns);

}  // namespace lanista::data
