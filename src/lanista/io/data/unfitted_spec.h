#pragma once

#include <cstddef>
#include <vector>

#include "lanista/io/data/spec.h"

namespace lanista::data {

/// The specification of raw data: features are not normalised, a missing number stays NaN, and every category is known.
///
/// The trainings of `spec` have it in common, apart from targets. Each adds its own missing_numbers(),
/// unseen_features() and normalization.
DataSpec spec_without_fitted_stats(const DataSpec& spec);

/// The features of a table that are zero for every row: categories that no training row has. Ascending.
std::vector<std::size_t> unseen_features(const DataSpec& spec);

}  // namespace lanista::data
