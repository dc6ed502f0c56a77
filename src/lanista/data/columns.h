#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/data/normalization.h"

namespace lanista::data {

enum class ColumnKind { kNumber, kCategory };

/// A feature column of a table: what it holds, and how its cells become features.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  double mean = 0, scale = 1;           ///< numbers: of the training rows; a missing number becomes the mean
  double min = 0, max = 0;              ///< numbers: of all rows
  std::vector<std::string> categories;  ///< categories: sorted by bytes, one feature each
  std::int64_t missing = 0, unique = 0;

  /// How many features it makes.
  std::int64_t width() const { return kind == ColumnKind::kNumber ? 1 : static_cast<std::int64_t>(categories.size()); }
};

nlohmann::json columns_json(const std::vector<Column>& columns);
/// Errors: kDataLoss naming the column and the entry.
Result<std::vector<Column>> parse_columns(const nlohmann::json& json);

/// Numbers by their own mean and deviation. Zeros and ones of categories stay as they are: a rare category, scaled,
/// would outweigh everything else.
Normalization normalization_of(const std::vector<Column>& columns);

}  // namespace lanista::data
