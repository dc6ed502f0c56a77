#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/io/data/normalization.h"
#include "lanista/io/data/raw_data.h"

namespace lanista::data {

/// What is left to do with features as they are gathered, where trainings with normalisations of their own share the
/// raw numbers. Gives the bits of numbers that were normalised beforehand.
struct PostProcess {
  Normalization normalization;
  std::vector<float> missing;      ///< what NaN becomes, one a feature; empty: there is none
  std::vector<std::size_t> unseen;  ///< features that are zero: categories that no training row has

  /// `rows`: whole rows of `width` raw numbers.
  void apply(std::span<float> rows, std::int64_t width) const;
};

/// Fits a table's columns to the training rows `train`: means and deviations of what is not NaN, and which categories
/// none of them has. raw.spec.schema, of more rows than these, and raw.spec.normalization become theirs; the columns and
/// their categories stay.
PostProcess fit_table(RawData& raw, const std::vector<std::int64_t>& train);

/// A schema's columns with means and deviations of `normalization`, and zeros for the features in `unseen`.
nlohmann::json with_fitted_stats(const nlohmann::json& schema, const Normalization& normalization,
                           const std::vector<std::size_t>& unseen);
/// The features that a schema's columns have for categories that are unseen; the inverse. Errors: of parse_columns.
Result<std::vector<std::size_t>> unseen_features_of_schema(const nlohmann::json& schema);

}  // namespace lanista::data
