#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::search {

/// The constants of CMA-ES for a dimension and a population.
///
/// Source: Hansen's tutorial (arXiv 1604.00772), as in the cmaes library. Negative weights are active.
struct CmaConstants {
  /// Computes all constants. Needs dimension >= 1 and a population of at least 2. A `population` of 0 means
  /// 4 + floor(3 ln dimension).
  explicit CmaConstants(std::int64_t dimension, std::int64_t population = 0);

  std::int64_t lambda = 0;      ///< Population: number of points of a generation.
  std::int64_t mu = 0;          ///< Number of parents: best points that move the mean.
  std::vector<double> weights;  ///< One weight per rank. The first mu sum to one; the others are at most 0.
  double mu_eff = 0;            ///< Effective number of parents.
  double c_1 = 0;               ///< Learning rate of the rank-one update.
  double c_mu = 0;              ///< Learning rate of the rank-mu update.
  double c_sigma = 0;           ///< Learning rate of the step-size path.
  double d_sigma = 0;           ///< Damping of the step size.
  double c_c = 0;               ///< Learning rate of the covariance path.
  double chi = 0;               ///< Expected length of a standard normal vector.
};

/// The CMA-ES algorithm, which minimises a function of `mean().size()` real numbers.
///
/// It adapts a normal distribution to the better half of its samples, and its covariance also away from the worse half.
/// It uses only the order of the losses.
class CmaEs {
 public:
  /// Starts at `mean` with the step size `sigma` in every direction. A `population` of 0 means the default of
  /// CmaConstants.
  CmaEs(std::vector<double> mean, double sigma, std::int64_t population = 0);

  /// Returns the number of points of a generation.
  std::int64_t population() const { return constants_.lambda; }
  /// Sets the population from the next generation on; 0: the default of CmaConstants. Mean, step size and covariance
  /// stay.
  void set_population(std::int64_t population);
  /// Returns one sample of the current distribution, in the coordinates of `mean()`. It is not bounded.
  std::vector<double> sample_point(Rng& rng) const;

  /// One evaluated point of a generation.
  struct RankedPoint {
    std::vector<double> x;     ///< Coordinates of the point.
    bool is_injected = false;  ///< True: it is not a sample of the current distribution, such as a late result.
  };
  /// Adapts the distribution to a generation of `population()` points, ordered from best to worst.
  ///
  /// Injected points are used as in Hansen, "Injecting External Solutions Into CMA-ES" (arXiv 1110.4181). Their steps
  /// are shortened to sqrt(n) + 2n / (n + 2). If there is one, the mean's part in the step size is bounded in the same
  /// way, and the step size grows by at most a factor of e. So one injected point cannot distort the distribution.
  void update(const std::vector<RankedPoint>& ranked);
  /// Replaces `update` for a generation of equal losses, which shows no direction. The step size is multiplied by
  /// exp(0.2 + c_sigma / d_sigma), as in Hansen's tutorial. Nothing else changes.
  void update_from_ties();
  /// True if more samples cannot improve the mean. Then the condition of the covariance is above 1e14, or the longest
  /// axis is below 1e-12, or the step size is not finite.
  bool has_converged() const;
  /// Returns the standard deviation along the longest axis of the distribution.
  double longest_axis_deviation() const;

  /// Returns the mean of the distribution, one number per coordinate.
  const std::vector<double>& mean() const { return mean_; }
  /// Returns the step size: the covariance of samples is its square times the covariance matrix.
  double sigma() const { return sigma_; }

 private:
  void decompose();

  CmaConstants constants_;
  std::vector<double> mean_, p_sigma_, p_c_;
  std::vector<double> covariance_;  ///< Matrix of n x n numbers.
  std::vector<double> axes_;        ///< Matrix of n x n numbers, one eigenvector per column.
  std::vector<double> lengths_;     ///< Square roots of the eigenvalues.
  double sigma_;
  std::int64_t generation_ = 0;
};

}  // namespace lanista::search
