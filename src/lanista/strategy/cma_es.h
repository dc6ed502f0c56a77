#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::strategy {

/// The numbers of CMA-ES for a dimension (Hansen's tutorial, arXiv 1604.00772, as the cmaes library has them: negative
/// weights active).
struct CmaConstants {
  /// `population` 0: 4 + floor(3 ln dimension). Needs dimension >= 1.
  explicit CmaConstants(std::int64_t dimension, std::int64_t population = 0);

  std::int64_t lambda = 0, mu = 0;  ///< population; how many of it are parents
  std::vector<double> weights;      ///< of the ranks; the first mu sum to one, the others are negative
  double mu_eff = 0, c_1 = 0, c_mu = 0, c_sigma = 0, d_sigma = 0, c_c = 0, chi = 0;
};

/// CMA-ES: a normal distribution that learns where the better half of its samples lies. Minimises. Uses only the order
/// of the losses.
class CmaEs {
 public:
  CmaEs(std::vector<double> mean, double sigma, std::int64_t population = 0);

  std::int64_t population() const { return constants_.lambda; }
  std::vector<double> draw(Rng& rng) const;
  /// A generation: `population()` points from best to worst.
  void tell(const std::vector<std::vector<double>>& ranked);
  /// Whether nothing more can be learned: condition above 1e14, or steps too small to matter next to the mean.
  bool spent() const;

  const std::vector<double>& mean() const { return mean_; }
  double sigma() const { return sigma_; }

 private:
  void decompose();

  CmaConstants constants_;
  std::vector<double> mean_, p_sigma_, p_c_;
  std::vector<double> covariance_;  ///< n x n, as are the axes: one eigenvector a column
  std::vector<double> axes_, lengths_;
  double sigma_;
  std::int64_t generation_ = 0;
};

}  // namespace lanista::strategy
