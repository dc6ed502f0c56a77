#pragma once

#include <vector>

namespace lanista::strategy {

/// Matern kernel with nu = 5/2 of unit length and variance: (1 + sqrt5 r + 5 r^2 / 3) exp(-sqrt5 r).
double matern52(double distance);

/// log(z Phi(z) + phi(z)): the logarithm of the expected improvement over sigma, at any z.
double log_improvement(double z);

/// log(Phi(z)): the logarithm of the probability that a standard normal is at most z, at any z.
double log_normal_cdf(double z);

/// What a kernel is made of, one weight a coordinate: the distance is sqrt(sum of weight * difference^2), where the
/// difference of unordered coordinates is 0 or 1 (Hamming).
struct Kernel {
  std::vector<double> weights;  ///< inverse squared length-scales
  double variance = 1;
  double noise = 0.01;  ///< its variance
};

/// Points of a space and which of its coordinates have no order.
struct Points {
  std::vector<std::vector<double>> x;
  std::vector<bool> unordered;
  std::vector<double> uncertainty = {};  ///< variance of each value beyond the kernel's noise; empty: none
};

/// Log-posterior of a kernel for values that are standardised: marginal likelihood and the priors of Optuna's Gaussian
/// process (weights: -sum(0.1 / w + 0.1 w); variance Gamma(2, 1); noise Gamma(1.1, 30)). `gradient` if given: by the
/// logarithms of weights, variance, noise, in this order. Minus infinity where the matrix is not positive definite.
double log_posterior(const Points& points, const std::vector<double>& values, const Kernel& kernel,
                     std::vector<double>* gradient = nullptr);

/// The kernel of the highest posterior that L-BFGS reaches from unit weights; noise is at least 1e-6. Of equal values,
/// which tell nothing, that start itself.
Kernel fit_kernel(const Points& points, const std::vector<double>& values);

/// An exact Gaussian process with zero mean, for several sets of values at the same points. Points that nearly coincide
/// may make the matrix singular; then 1e-10, 1e-9, ... 1e-4 of its mean diagonal is added to the diagonal. What even
/// that does not mend (only numbers that are not finite) is taken as points that tell nothing of each other. It never
/// fails.
class GaussianProcess {
 public:
  /// Needs at least one point; values finite. `columns`: sets of values, one value a point.
  GaussianProcess(Points points, const std::vector<std::vector<double>>& columns, Kernel kernel);

  struct Prediction {
    std::vector<double> means;  ///< one a column
    double variance = 0;        ///< of the function, without noise; at least 1e-12
  };
  Prediction predict(const std::vector<double>& x) const;
  /// Joint draws at points `at`: mean of column 0 + L z for each z (one number a point of `at`), noise included.
  std::vector<std::vector<double>> joint_samples(const std::vector<std::vector<double>>& at,
                                                 const std::vector<std::vector<double>>& normals) const;

 private:
  std::vector<double> covariances(const std::vector<double>& x) const;
  std::vector<double> solve_lower(std::vector<double> covariances) const;  ///< L^-1 k

  Points points_;
  Kernel kernel_;
  std::vector<double> factor_;                ///< Cholesky, n x n
  std::vector<std::vector<double>> weights_;  ///< K^-1 y, one a column
};

}  // namespace lanista::strategy
