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
/// proportions as evenly as whole rows allow. `labels` is empty for targets that are numbers. Where `test` (ascending)
/// names the rows of an official test part, these are it, and the others are shared between training and validation in
/// the proportion of their fractions. Errors: kInvalidArgument (fractions that are negative or do not add up to 1; a
/// part with a fraction and no row).
Result<Split> split_rows(std::int64_t rows, std::span<const std::int32_t> labels, std::int64_t classes,
                         const std::array<double, 3>& fractions, std::span<const std::int64_t> test = {});

/// Whole groups (`groups`: a number from 0 on for each row) are shared out, so that no group lies in two parts. The
/// largest first, each goes where the parts and the classes in them come nearest to their fractions; which of equal ones
/// goes first is drawn with a fixed seed. `test` as above: its rows stay where they are. Errors: also fewer groups than
/// parts with a fraction.
Result<Split> split_groups(const std::vector<std::int64_t>& groups, std::span<const std::int32_t> labels,
                           std::int64_t classes, const std::array<double, 3>& fractions,
                           std::span<const std::int64_t> test = {});

/// In the order of `times` (one a row): what comes first is for training, what comes last for the test. Rows of one time
/// stay together, so parts have their fraction of the rows as nearly as whole times allow. `test` as above. Errors: also
/// fewer times than parts with a fraction.
Result<Split> split_in_time(const std::vector<double>& times, const std::array<double, 3>& fractions,
                            std::span<const std::int64_t> test = {});

/// Blocks of consecutive rows: training first, then validation, then test, of the same sizes. Errors as above.
Result<Split> split_blocks(std::int64_t rows, const std::array<double, 3>& fractions);

}  // namespace lanista::data
