#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/io/data/normalization.h"
#include "lanista/io/data/raw_data.h"

namespace lanista::data {

/// The last changes of raw features when they are gathered. Trainings with different normalisations share raw numbers.
/// The result has the bits of numbers that were normalised beforehand.
struct PostProcess {
  Normalization normalization;      ///< of this training
  std::vector<float> missing;       ///< numbers in place of NaN, one for each feature; empty: no NaN
  std::vector<std::size_t> unseen;  ///< features that become zero: categories that no training row has

  /// Changes rows of `width` raw numbers in place.
  void apply(std::span<float> rows, std::int64_t width) const;
};

/// Fits a table's columns to the training rows `train`: means and deviations without NaN, and the categories that none
/// of them has. It updates raw.spec.schema, which was fitted to more rows, and raw.spec.normalization. Columns and
/// categories stay.
PostProcess fit_table(RawData& raw, const std::vector<std::int64_t>& train);

/// A schema with the means and deviations of `normalization`, and with `unseen` features marked.
nlohmann::json with_fitted_stats(const nlohmann::json& schema, const Normalization& normalization,
                                 const std::vector<std::size_t>& unseen);
/// The features of unseen categories in a schema; reads what with_fitted_stats() marked. Errors: of parse_columns().
Result<std::vector<std::size_t>> unseen_features_of_schema(const nlohmann::json& schema);

}  // namespace lanista::data
