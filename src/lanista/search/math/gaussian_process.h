#pragma once

#include <vector>

namespace lanista::search {

/// Returns the Matern kernel with nu = 5/2, unit length and unit variance: (1 + sqrt5 r + 5 r^2 / 3) exp(-sqrt5 r).
double matern52(double distance);

/// Returns log(z Phi(z) + phi(z)), the logarithm of the expected improvement over sigma, for any finite z.
double log_improvement(double z);

/// Returns log(Phi(z)), where Phi(z) is the probability that a standard normal is at most z, for any finite z.
double log_normal_cdf(double z);

/// The hyper-parameters of a Matern kernel.
///
/// The distance of two points is sqrt(sum of weight * difference^2). The difference of unordered coordinates is 0 or 1.
struct Kernel {
  std::vector<double> weights;  ///< Inverse squared length-scales, one per coordinate.
  double variance = 1;          ///< Variance of the function.
  double noise = 0.01;          ///< Variance of the noise.
};

/// Points in a space with ordered and unordered coordinates.
struct Points {
  std::vector<std::vector<double>> x;    ///< One vector of coordinates per point.
  std::vector<bool> unordered;           ///< One flag per coordinate; true: its values have no order.
  std::vector<double> uncertainty = {};  ///< Variance of each value in addition to the noise; empty if there is none.
};

/// Returns the logarithm of the posterior density of a kernel, up to a constant, for standardised values, one per
/// point.
///
/// It is the marginal likelihood times the priors of Optuna's Gaussian process. They are -sum(0.1 / w + 0.1 w) for the
/// weights, Gamma(2, 1) for the variance and Gamma(1.1, 30) for the noise. Minus infinity means that the matrix is not
/// positive definite. Otherwise `gradient`, if it is given, receives the derivatives by the logarithms of the weights,
/// the variance and the noise, in this order. O(n^3) for n points.
double log_posterior(const Points& points, const std::vector<double>& values, const Kernel& kernel,
                     std::vector<double>* gradient = nullptr);

/// Returns the kernel with the highest posterior that 60 iterations of L-BFGS reach from weights and variance of 1. Its
/// noise is at least 1e-6.
///
/// Equal values, or none, determine no kernel; then the result is the start of the search, with a noise of about 0.01.
Kernel fit_kernel(const Points& points, const std::vector<double>& values);

/// An exact Gaussian process with zero mean, for one or more sets of values at the same points.
///
/// It never fails. If the matrix is singular, such as for points that nearly coincide, a multiple of its mean diagonal
/// is added to the diagonal: 1e-10, 1e-9, ... 1e-4. If that is not enough, because numbers are not finite, the points
/// are taken as independent.
class GaussianProcess {
 public:
  /// Conditions the process on values. Needs at least one point. Each of `columns` has one finite value per point.
  GaussianProcess(Points points, const std::vector<std::vector<double>>& columns, Kernel kernel);

  /// The posterior at one point.
  struct Prediction {
    std::vector<double> means;  ///< One mean per column.
    double variance = 0;        ///< Variance of the function without noise, at least 1e-12; equal for all columns.
  };
  /// Returns the posterior at `x`, which has one number per coordinate. O(n^2) for n points.
  Prediction predict(const std::vector<double>& x) const;
  /// Returns joint samples of column 0 at the points `at`, one for each of `normals`, with noise.
  ///
  /// Each of `normals` has one standard normal number per point of `at`.
  std::vector<std::vector<double>> joint_samples(const std::vector<std::vector<double>>& at,
                                                 const std::vector<std::vector<double>>& normals) const;

 private:
  std::vector<double> covariances(const std::vector<double>& x) const;
  std::vector<double> solve_lower(std::vector<double> covariances) const;  ///< L^-1 k.

  Points points_;
  Kernel kernel_;
  std::vector<double> factor_;                ///< Cholesky factor of n x n numbers.
  std::vector<std::vector<double>> weights_;  ///< K^-1 y, one vector per column.
};

}  // namespace lanista::search
