#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/io/data/raw_input.h"
#include "lanista/io/data/spec.h"

namespace lanista::inference {

/// Predictions of rows with their true values, without the rows that have no target.
struct ComparedPredictions {
  std::int64_t rows = 0;             ///< Number of rows with a target.
  std::vector<double> values;        ///< Predictions [rows, outputs].
  std::vector<std::int32_t> labels;  ///< Classes, one for each position of a row; empty for numbers.
  std::vector<float> targets;        ///< Numbers, or labels as 0 and 1, [rows, outputs]; empty for classes.
};

/// Returns the rows of `raw` that have a target, with their predictions. A row has one if its first label or first
/// number is not missing. `predictions` is [rows of raw, outputs].
ComparedPredictions rows_with_targets(const data::DataSpec& data, const data::RawData& raw,
                                      std::span<const double> predictions, std::int64_t outputs);

}  // namespace lanista::inference
