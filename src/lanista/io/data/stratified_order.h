#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanista::data {

/// `rows` in an order of which every beginning is a stratified share: of the first m, a class of n_c of the n rows has
/// less than one more or less than m n_c / n. Which rows of a class come first is drawn with `seed`. `labels` are of
/// all rows of the data set, from 0 to classes - 1; without any there is one stratum. O(n log n).
///
/// Row k of a class is wanted between m = k n / n_c and (k + 1) n / n_c. One row a place is a processor that such jobs
/// share fully, so the one that must be first, of those that may come, always leads to the end (earliest deadline
/// first, Liu and Layland 1973; the windows are those of Baruah et al. 1996, proportionate progress).
std::vector<std::int64_t> stratified_order(std::span<const std::int64_t> rows, std::span<const std::int32_t> labels,
                                           std::int64_t classes, std::uint64_t seed);

}  // namespace lanista::data
