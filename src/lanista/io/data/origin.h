#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/io/data/columns.h"
#include "lanista/io/data/raw_data.h"
#include "lanista/io/data/table.h"
#include "lanista/search/study/config.h"

// Columns with a large mean and a small deviation, such as Unix times. A float32 near 1e9 is a multiple of 64, so such
// a number is stored less an origin, a double near the mean. Only the difference becomes float32.
namespace lanista::data {

/// A column has an origin if the spacing of float32 at its largest magnitude is above this share of its deviation.
/// Below it, rounding moves a normalised number by less than 5e-6, as rounding in sums of training does.
inline constexpr double kOriginSpacing = 1e-5;
/// A column without an origin has a warning if the spacing is above this share of its deviation.
inline constexpr double kCoarseSpacing = 1e-2;

/// The distance from |x| to the next larger float32; infinity above the largest one.
double float32_spacing(double x);

/// The origin of a column with these numbers, or 0 if it needs none. It is the mean, rounded to as few decimal digits
/// as keep it within one deviation. NaN stands for a missing number.
///
/// It is 0 too if all numbers are exact as float32 and at most 2^24. With outliers an origin would not halve the
/// spacing; then it is 0.
double fit_origin(std::span<const double> numbers);

/// Rows of `width` numbers as float32, each less its origin, with the difference in double. `origin` has one number for
/// each equal run of a row; empty: 0.
std::vector<float> floats_less_origin(std::span<const double> rows, std::size_t width, std::span<const double> origin);

/// The numbers of the cells in `columns`, in double: [rows, columns]. A cell without a number gives 0.
std::vector<double> exact_numbers(const Table& table, const std::vector<std::size_t>& columns);

/// Fits the origins of features and targets to the rows `fitted`, sets them in raw.spec, and replaces numbers by their
/// differences. `config` decides whether there is a normalisation, without which there is no origin. Features of tables
/// must have theirs already. Then it clears the numbers in double, and adds warnings about columns that float32 holds
/// with less than a hundredth of their deviation.
void fit_origins(RawData& raw, const std::vector<std::int64_t>& fitted, const study::DataConfig& config);

}  // namespace lanista::data
