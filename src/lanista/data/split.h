#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::data {

/// Row numbers of train, validation and test, each ascending.
using Split = std::array<std::vector<std::int64_t>, 3>;

/// A stratified shuffle with a fixed seed: a function of the labels and the fractions alone. Validation and test get
/// their fraction of all rows, rounded to the nearest, training the rest; every class is shared out in the same
/// proportions as evenly as whole rows allow. `labels` is empty for targets that are numbers. Errors: kInvalidArgument
/// (fractions that are negative or do not add up to 1; a part with a fraction and no row).
Result<Split> split_rows(std::int64_t rows, std::span<const std::int32_t> labels, std::int64_t classes,
                         const std::array<double, 3>& fractions);

}  // namespace lanista::data
