#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::data {

/// Row numbers (from 0) of training, validation and test part, in this order, each ascending.
using Split = std::array<std::vector<std::int64_t>, 3>;

/// A stratified random split with a fixed seed: equal arguments give equal splits. `fractions` are those of training,
/// validation and test, with the sum 1.
///
/// Validation and test get their fraction of all rows, rounded to the nearest; training gets the rest. Every class is
/// divided in the same proportions as evenly as whole rows allow. `labels` has the class of each row, below `classes`;
/// it is empty without classes. If `test` or `validation` (ascending) has the rows of an official part, the others are
/// divided between the other two parts in the proportion of their fractions. With both, all others are for training.
/// Errors: kInvalidArgument (a fraction outside 0 to 1; a sum other than 1; more than 2^31 - 1 rows). Also no row for
/// training, for validation, or for a test part with a fraction.
Result<Split> split_rows(std::int64_t rows, std::span<const std::int32_t> labels, std::int64_t classes,
                         const std::array<double, 3>& fractions, std::span<const std::int64_t> test = {},
                         std::span<const std::int64_t> validation = {});

/// A split in which no group is in two parts. `groups` has the group number of each row. Other arguments are as for
/// split_rows().
///
/// From the largest group to the smallest, each goes to the part that comes nearest to its fraction of each class with
/// it. A fixed seed orders groups of equal size. Errors: kInvalidArgument (fractions as for split_rows(); no fraction
/// for training or validation; fewer groups than parts with a fraction).
Result<Split> split_groups(const std::vector<std::int64_t>& groups, std::span<const std::int32_t> labels,
                           std::int64_t classes, const std::array<double, 3>& fractions,
                           std::span<const std::int64_t> test = {});

/// A split in the order of `times` (one for each row): the first rows are for training, the last for the test. Rows of
/// one time stay together, so that parts have their fraction as nearly as equal times allow. `test` is as for
/// split_rows(). Errors: kInvalidArgument (fractions as for split_groups(); fewer different times than parts with a
/// fraction).
Result<Split> split_in_time(const std::vector<double>& times, const std::array<double, 3>& fractions,
                            std::span<const std::int64_t> test = {});

/// A split into blocks of consecutive rows: first training, then validation, then test, of the sizes that split_rows()
/// gives. Errors: those of split_rows().
Result<Split> split_blocks(std::int64_t rows, const std::array<double, 3>& fractions);

}  // namespace lanista::data
