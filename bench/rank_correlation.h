#pragma once

#include <vector>

namespace lanista::bench {

/// Spearman's rank correlation of two lists of equal length, from -1 to 1.
///
/// Equal values share the mean of their ranks. The result is 0 if all values of one list are equal.
double rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace lanista::bench
