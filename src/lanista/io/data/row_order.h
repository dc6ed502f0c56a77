#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/table.h"

namespace lanista::data {

/// A number for each different text of a column [rows]. Errors: kDataLoss (a row without a value).
Result<std::vector<std::int64_t>> group_numbers(const Table& table, std::size_t column);

/// The order of the rows by a column of numbers or dates [rows]; equal times are equal.
///
/// With the first rules of studies they are numbers, or local seconds without fractions. Later they are ranks of the
/// exact values: whole numbers of 64 bits, and times in UTC to the nanosecond. Errors: kDataLoss (a row without a
/// number or a date; after the first rules times with and without an offset from UTC).
Result<std::vector<double>> times_of(const Table& table, std::size_t column);

}  // namespace lanista::data
