#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/io/data/normalization.h"
#include "lanista/io/data/raw_data.h"

namespace lanista::data {

/// The changes of raw features when a fold gathers them, so that folds with different normalisations share raw
/// features. The result has the bits of features that were normalised beforehand.
struct PostProcess {
  Normalization normalization;  ///< fitted on the training rows of the fold, less the origin of the features
  std::vector<float>
      missing;  ///< number that replaces NaN, less the origin, one for each feature; empty: there is no NaN
  std::vector<std::size_t> unseen;  ///< indices of features that become zero: categories that no training row has

  /// Changes whole rows of `width` raw features in place: fills NaN, sets unseen ones to 0, normalises.
  void apply(std::span<float> rows, std::int64_t width) const;
};

/// Fits the columns of a table to the training rows `train`: means (with raw.spec.origin added) and deviations without
/// NaN, and the categories that no row of `train` has. The result has the unit of the source, apart from `missing`. It
/// also writes them to raw.spec.schema and raw.spec.normalization. The lists of columns and categories do not change.
/// Precondition: raw.spec.schema is valid.
PostProcess fit_table(RawData& raw, const std::vector<std::int64_t>& train);

/// A copy of a valid `schema` with the means and scales of `normalization`, one entry for each feature. The categories
/// of the feature indices `unseen` (ascending) are marked as unseen.
nlohmann::json with_fitted_stats(const nlohmann::json& schema, const Normalization& normalization,
                                 const std::vector<std::size_t>& unseen);
/// The indices, ascending, of features of categories that with_fitted_stats() marked as unseen. Errors: kDataLoss, as
/// of parse_columns().
Result<std::vector<std::size_t>> unseen_features_of_schema(const nlohmann::json& schema);

}  // namespace lanista::data
