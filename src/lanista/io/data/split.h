#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::data {

/// Row numbers of training, validation and test, each ascending.
using Split = std::array<std::vector<std::int64_t>, 3>;

/// A stratified shuffle with a fixed seed: a function of the labels and the fractions alone.
///
/// Validation and test get their fraction of all rows, rounded to the nearest; training gets the rest. Every class is
/// divided in the same proportions as evenly as whole rows allow. `labels` is empty for targets that are numbers. If
/// `test` (ascending) has the rows of an official test part, the others are divided between training and validation in
/// the proportion of their fractions. Errors: kInvalidArgument (fractions that are negative or do not add up to 1; a
/// part with a fraction and no row).
Result<Split> split_rows(std::int64_t rows, std::span<const std::int32_t> labels, std::int64_t classes,
                         const std::array<double, 3>& fractions, std::span<const std::int64_t> test = {});

/// A split that keeps groups whole (`groups`: a number from 0 on for each row), so that no group is in two parts.
///
/// The largest group first, each goes where parts and their classes come nearest to their fractions. A fixed seed
/// orders equal groups. `test` as in split_rows(). Errors: also fewer groups than parts with a fraction.
Result<Split> split_groups(const std::vector<std::int64_t>& groups, std::span<const std::int32_t> labels,
                           std::int64_t classes, const std::array<double, 3>& fractions,
                           std::span<const std::int64_t> test = {});

/// A split in the order of `times` (one for each row): the first rows are for training, the last for the test. Rows of
/// one time stay together, so that parts have their fraction as nearly as equal times allow. `test` as in split_rows().
/// Errors: also fewer times than parts with a fraction.
Result<Split> split_in_time(const std::vector<double>& times, const std::array<double, 3>& fractions,
                            std::span<const std::int64_t> test = {});

/// Blocks of consecutive rows in the order training, validation, test, of the sizes of split_rows(). Errors as there.
Result<Split> split_blocks(std::int64_t rows, const std::array<double, 3>& fractions);

}  // namespace lanista::data
