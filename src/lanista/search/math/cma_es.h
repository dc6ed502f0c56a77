#pragma once

#include <cstdint>
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

/// CMA-ES, the algorithm alone: a normal distribution that learns where the better half of its samples lies. Minimises.
/// Uses only the order of the losses.
class CmaEs {
 public:
  CmaEs(std::vector<double> mean, double sigma, std::int64_t population = 0);

  std::int64_t population() const { return constants_.lambda; }
  /// From the next generation on; what was learned stays.
  void set_population(std::int64_t population);
  std::vector<double> sample_point(Rng& rng) const;

  /// A point of a generation. Foreign: not drawn from the distribution as it is now, but from one before (a late
  /// result) or elsewhere.
  struct RankedPoint {
    std::vector<double> x;
    bool is_injected = false;
  };
  /// A generation: `population()` members from best to worst. Foreign ones are injected as in Hansen, "Injecting
  /// External Solutions Into CMA-ES" (arXiv 1110.4181): a step longer than draws are is shortened to sqrt(n) + 2n / (n
  /// + 2), and where there is one, the mean's part in the step size is bounded in the same way and the step size grows
  /// by e at most. So they teach what they can, and none of them can tear the distribution away.
  void tell(const std::vector<RankedPoint>& ranked);
  /// In place of `tell` for a generation of equals, which shows no direction: longer steps, by exp(0.2 + c_sigma /
  /// d_sigma) as in Hansen's tutorial.
  void tell_without_order();
  /// Whether nothing more can be learned: condition above 1e14, or steps too small to matter next to the mean.
  bool has_converged() const;
  double longest_axis_deviation() const;  ///< deviation along the longest axis

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
