#pragma once

#include <cstddef>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::search {

/// A kernel density estimate over numbers of the unit interval and choices together.
///
/// The density is the mean, over the rows, of a product of one kernel per axis. A number has a Gaussian kernel that is
/// truncated to the unit interval and normalised. A choice has the kernel of Aitchison and Aitken (1976): 1 - h at the
/// level of the row, else h / (levels - 1).
///
/// Bandwidths follow the normal reference rule, 1.06 s n^(-1 / (4 + axes)), and are at least kMinBandwidth. Here s is
/// the standard deviation of the axis over the rows (divisor n). For a choice, s is sqrt((1 - sum of squared shares) /
/// 2), and h is at most 1 - 1 / levels, where the kernel is uniform.
///
/// Source: Falkner et al., BOHB, ICML'18. Truncation and the spread of choices are corrections of it.
class ProductKde {
 public:
  static constexpr double kMinBandwidth = 1e-3;  ///< Lower bound of all bandwidths.

  /// Builds the estimate. `levels` has one entry per axis: 0 for a number, else the number of levels of the choice.
  /// `rows` has at least one row. A row has for each axis a number in [0, 1] or the index of a level.
  ProductKde(std::vector<std::size_t> levels, std::vector<std::vector<double>> rows);

  /// Returns the logarithm of the density at a point in the format of a row. It is finite or minus infinity.
  /// O(rows x axes).
  double log_density(const std::vector<double>& at) const;
  /// Returns a sample near a row that is chosen at random, in the format of a row.
  ///
  /// A number comes from the row's kernel with `widening` times the bandwidth. A choice keeps the row's level with
  /// probability 1 - h, else it is a uniform sample of all levels.
  std::vector<double> sample_near_row(const Rng& rng, double widening) const;
  /// Returns the bandwidths, one per axis.
  const std::vector<double>& bandwidths() const { return bandwidths_; }

 private:
  std::vector<std::size_t> levels_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> bandwidths_;
  std::vector<double> log_peaks_;   ///< One logarithm per row: the product of all kernels at the row itself.
  std::vector<double> log_misses_;  ///< One logarithm per axis: the factor for another level than the row's.
};

}  // namespace lanista::search
