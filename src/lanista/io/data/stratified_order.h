#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanista::data {

/// The row numbers `rows` in an order of which each prefix is stratified by class. Among the first m, the rows of a
/// class differ by less than one from m n_c / n, where n_c of the n rows have the class.
///
/// `seed` decides the order within a class. `labels` has the class of every row of the data set by row number, from 0
/// to classes - 1; if it is empty, the order is random. O(n log n).
///
/// Row k of a class must come between m = k n / n_c and (k + 1) n / n_c. This is a schedule of unit jobs on one
/// processor at full load. The earliest deadline first always succeeds (Liu and Layland 1973). The windows are those of
/// proportionate progress (Baruah et al. 1996).
std::vector<std::int64_t> stratified_order(std::span<const std::int64_t> rows, std::span<const std::int32_t> labels,
                                           std::int64_t classes, std::uint64_t seed);

}  // namespace lanista::data
