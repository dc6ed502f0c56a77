#pragma once

#include <cstddef>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::strategy {

/// A kernel density estimate over numbers of the unit interval and choices together: the mean over its rows of products
/// of one kernel an axis. Numbers have Gaussian kernels, cut off at 0 and 1 and made whole again, so that the density
/// integrates to one; choices have Aitchison and Aitken's (1976): 1 - h where the row has the level, else h / (levels -
/// 1).
///
/// Bandwidths by the normal reference rule, 1.06 s n^(-1/(4 + axes)), at least `kMinBandwidth`; s is the deviation of
/// the axis over the rows (divisor n). Levels have no order, so what stands for their deviation is
/// sqrt((1 - sum of squared shares) / 2), which for two levels is the deviation of an indicator; h is at most 1 - 1 /
/// levels, where the kernel is uniform.
/// Source: Falkner et al., BOHB, ICML'18, with these two corrections.
class ProductKde {
 public:
  static constexpr double kMinBandwidth = 1e-3;

  /// `levels`: one an axis, 0 for a number, else how many there are, whether rows show them or not. `rows`: at least
  /// one; a number of [0, 1] or a level's index for each axis.
  ProductKde(std::vector<std::size_t> levels, std::vector<std::vector<double>> rows);

  /// Finite or minus infinity. O(rows x axes).
  double log_density(const std::vector<double>& at) const;
  /// Near a row chosen at random: numbers from its kernel with `widening` times the bandwidth, the row's level with
  /// probability 1 - h, else any level (this one, too).
  std::vector<double> sample_near_row(const Rng& rng, double widening) const;
  const std::vector<double>& bandwidths() const { return bandwidths_; }

 private:
  std::vector<std::size_t> levels_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> bandwidths_;
  std::vector<double> log_peaks_;   ///< of rows: the product of all kernels, numbers at their middle
  std::vector<double> log_misses_;  ///< of axes with levels: another level over the row's own
};

}  // namespace lanista::strategy
