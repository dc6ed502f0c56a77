#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/normalization.h"

namespace lanista::data {

enum class ColumnKind { kNumber, kCategory, kDate };

/// Numbers that one feature is made of.
struct NumberStats {
  double mean = 0, scale = 1;  ///< of the training rows; a missing number becomes the mean
  double min = 0, max = 0;     ///< of all rows
};

/// A feature column of a table: what it holds, and how its cells become features.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  NumberStats stats;                          ///< of numbers
  std::vector<std::string> categories;  ///< sorted by bytes, one feature each
  /// Those of them that no training row of the fold has, sorted: they are all zeros, as those that nobody knows.
  std::vector<std::string> unseen;
  std::vector<NumberStats> parts;             ///< of dates: the first of kDateParts, one feature each
  /// Whether a missing number or date stays one (NaN): whoever uses the features says what it becomes.
  bool keeps_missing = false;
  std::int64_t missing = 0, unique = 0;

  /// How many features it makes.
  std::int64_t width() const;
};

nlohmann::json columns_json(const std::vector<Column>& columns);
/// Errors: kDataLoss naming the column and the entry.
Result<std::vector<Column>> parse_columns(const nlohmann::json& json);

/// Numbers and parts of dates by their own mean and deviation. Zeros and ones of categories stay as they are: a rare category, scaled,
/// would outweigh everything else.
Normalization normalization_of(const std::vector<Column>& columns);

}  // namespace lanista::data
