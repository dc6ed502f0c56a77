#pragma once

#include <cstddef>
#include <vector>

#include "lanista/io/data/spec.h"

namespace lanista::data {

/// A copy of `spec` without fitted statistics: features are not normalised, a missing number stays NaN, and every
/// category is known.
///
/// The folds of a data set have this specification in common, apart from targets. Each fold adds its own
/// missing_numbers(), unseen_features() and normalization.
DataSpec spec_without_fitted_stats(const DataSpec& spec);

/// The indices, ascending, of features of a table that are 0 in every row: those of categories that no training row
/// has. Empty for anything but a table.
std::vector<std::size_t> unseen_features(const DataSpec& spec);

}  // namespace lanista::data
