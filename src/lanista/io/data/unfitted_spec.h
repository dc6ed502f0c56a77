#pragma once

#include <cstddef>
#include <vector>

#include "lanista/io/data/spec.h"

namespace lanista::data {

/// The data as no training has seen them: features are not normalised, a missing number stays NaN, every category is
/// known. What the trainings of `spec` have in common, apart from targets; each brings its own rules (missing_numbers,
/// unseen_features, normalization).
DataSpec spec_without_fitted_stats(const DataSpec& spec);

/// The features of a table that are zero whatever a row holds: categories that no training row has. Ascending.
std::vector<std::size_t> unseen_features(const DataSpec& spec);

}  // namespace lanista::data
