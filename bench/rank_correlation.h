#pragma once

#include <vector>

namespace lanista::bench {

/// Spearman's, of as many values each; equal ones share the mean of their places. 0 where all of one side are equal.
double rank_correlation(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace lanista::bench
