#include "lanista/search/math/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/search/math/lbfgs.h"

namespace lanista::search {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kSqrt5 = 2.2360679774997896964;
constexpr double kLogSqrt2Pi = 0.91893853320467274178;
constexpr double kMinNoise = 1e-6;

/// Returns the squared difference of coordinate k; of an unordered one 0 or 1.
double difference2(const std::vector<double>& a, const std::vector<double>& b, std::size_t k, bool unordered) {
  if (unordered) return a[k] == b[k] ? 0 : 1;
  return (a[k] - b[k]) * (a[k] - b[k]);
}

double distance(const Points& points, const Kernel& kernel, const std::vector<double>& a,
                const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += kernel.weights[k] * difference2(a, b, k, points.unordered[k]);
  return std::sqrt(sum);
}

MatrixXd kernel_matrix(const Points& points, const Kernel& kernel) {
  const std::size_t n = points.x.size();
  MatrixXd matrix(static_cast<Index>(n), static_cast<Index>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double k = kernel.variance * matern52(distance(points, kernel, points.x[i], points.x[j]));
      matrix(static_cast<Index>(i), static_cast<Index>(j)) = matrix(static_cast<Index>(j), static_cast<Index>(i)) = k;
    }
    matrix(static_cast<Index>(i), static_cast<Index>(i)) =
        kernel.variance + kernel.noise + (points.uncertainty.empty() ? 0 : points.uncertainty[i]);
  }
  return matrix;
}

/// Returns the Cholesky factor, with jitter as GaussianProcess describes. Only the lower half is read.
Eigen::LLT<MatrixXd> factorised(MatrixXd matrix) {
  Eigen::LLT<MatrixXd> factor(matrix);
  const double scale = matrix.diagonal().cwiseAbs().mean();
  double added = 0;
  for (double jitter = 1e-10; factor.info() != Eigen::Success && jitter < 2e-4; jitter *= 10) {
    matrix.diagonal().array() += jitter * scale - added;
    added = jitter * scale;
    factor.compute(matrix);
  }
  if (factor.info() == Eigen::Success) return factor;
  VectorXd diagonal = matrix.diagonal();
  for (double& x : diagonal) x = std::isfinite(x) && x > 0 ? x : 1;
  factor.compute(diagonal.asDiagonal().toDenseMatrix());
  return factor;
}

Eigen::Map<const VectorXd> vec(const std::vector<double>& v) { return {v.data(), static_cast<Index>(v.size())}; }

}  // namespace

double matern52(double distance) {
  const double t = kSqrt5 * distance;
  return (1 + t + t * t / 3) * portable_exp(-t);
}

double log_improvement(double z) {
  const double log_density = -z * z / 2 - kLogSqrt2Pi;
  if (z > -2) return portable_log(z * portable_normal_cdf(z) + portable_exp(log_density));
  // With t = -z, Mills' ratio (1 - Phi(t)) / phi(t) is 1 / (t + r) with r = 1 / (t + 2 / (t + 3 / (t + ...))). So the
  // result is log(phi(t) r / (t + r)), without a difference of nearly equal numbers.
  double r = 0;
  for (int i = 100; i >= 1; --i) r = i / (-z + r);
  return log_density + portable_log(r / (-z + r));
}

double log_normal_cdf(double z) {
  if (z > -2) return portable_log(portable_normal_cdf(z));
  double r = 0;  // As above: Phi(-t) is phi(t) / (t + r).
  for (int i = 100; i >= 1; --i) r = i / (-z + r);
  return -z * z / 2 - kLogSqrt2Pi - portable_log(-z + r);
}

double log_posterior(const Points& points, const std::vector<double>& values, const Kernel& kernel,
                     std::vector<double>* gradient) {
  const auto n = static_cast<Index>(points.x.size());
  const std::size_t d = kernel.weights.size();
  const Eigen::LLT<MatrixXd> factor(kernel_matrix(points, kernel));
  if (factor.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  const VectorXd alpha = factor.solve(vec(values));
  double result = -0.5 * vec(values).dot(alpha) - static_cast<double>(n) * kLogSqrt2Pi;
  for (Index i = 0; i < n; ++i) result -= portable_log(factor.matrixLLT()(i, i));
  for (const double w : kernel.weights) result -= 0.1 / w + 0.1 * w;
  result += portable_log(kernel.variance) - kernel.variance;
  result += 0.1 * portable_log(kernel.noise) - 30 * kernel.noise;
  if (gradient == nullptr) return result;

  gradient->assign(d + 2, 0);
  auto& g = *gradient;
  for (Index j = 0; j < n; ++j) {
    const VectorXd inverse = factor.solve(VectorXd::Unit(n, j));
    const auto& b = points.x[static_cast<std::size_t>(j)];
    for (Index i = j; i < n; ++i) {
      const auto& a = points.x[static_cast<std::size_t>(i)];
      // The derivative of the likelihood by this entry of the matrix and its mirror image.
      const double outer = (i == j ? 0.5 : 1) * (alpha[i] * alpha[j] - inverse[i]);
      const double t = kSqrt5 * distance(points, kernel, a, b);
      const double decay = kernel.variance * portable_exp(-t);
      for (std::size_t k = 0; k < d; ++k) {
        const double by_weight = -5.0 / 6 * (1 + t) * decay * difference2(a, b, k, points.unordered[k]);
        g[k] += outer * by_weight * kernel.weights[k];
      }
      g[d] += outer * (1 + t + t * t / 3) * decay;
      if (i == j) g[d + 1] += outer * kernel.noise;
    }
  }
  for (std::size_t k = 0; k < d; ++k) g[k] += 0.1 / kernel.weights[k] - 0.1 * kernel.weights[k];
  g[d] += 1 - kernel.variance;
  g[d + 1] += 0.1 - 30 * kernel.noise;
  return result;
}

Kernel fit_kernel(const Points& points, const std::vector<double>& values) {
  const std::size_t d = points.unordered.size();
  const auto kernel_at = [&](const std::vector<double>& logs) {
    Kernel kernel;
    for (std::size_t k = 0; k < d; ++k) kernel.weights.push_back(portable_exp(logs[k]));
    kernel.variance = portable_exp(logs[d]);
    kernel.noise = kMinNoise + portable_exp(logs[d + 1]);
    return kernel;
  };
  const Differentiable loss = [&](const std::vector<double>& logs, std::vector<double>& gradient) {
    for (const double x : logs) {
      if (!(std::abs(x) < 30)) return std::numeric_limits<double>::infinity();
    }
    const Kernel kernel = kernel_at(logs);
    const double value = -log_posterior(points, values, kernel, &gradient);
    for (double& g : gradient) g = -g;
    gradient[d + 1] *= (kernel.noise - kMinNoise) / kernel.noise;
    return value;
  };
  std::vector<double> start(d + 2, 0);
  start[d + 1] = portable_log(0.01);
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  if (values.empty() || *lowest == *highest) return kernel_at(start);
  return kernel_at(minimize_lbfgs(loss, std::move(start), 60));
}

GaussianProcess::GaussianProcess(Points points, const std::vector<std::vector<double>>& columns, Kernel kernel)
    : points_(std::move(points)), kernel_(std::move(kernel)) {
  LANISTA_CHECK(!points_.x.empty(), "a Gaussian process needs a point");
  const auto n = static_cast<Index>(points_.x.size());
  const Eigen::LLT<MatrixXd> factor = factorised(kernel_matrix(points_, kernel_));
  factor_.resize(points_.x.size() * points_.x.size());
  Eigen::Map<MatrixXd>(factor_.data(), n, n) = factor.matrixL();
  for (const auto& column : columns) {
    const VectorXd weights = factor.solve(vec(column));
    weights_.emplace_back(weights.begin(), weights.end());
  }
}

std::vector<double> GaussianProcess::covariances(const std::vector<double>& x) const {
  std::vector<double> k;
  for (const auto& other : points_.x) k.push_back(kernel_.variance * matern52(distance(points_, kernel_, x, other)));
  return k;
}

std::vector<double> GaussianProcess::solve_lower(std::vector<double> v) const {
  const auto n = static_cast<Index>(v.size());
  const Eigen::Map<const MatrixXd> factor(factor_.data(), n, n);
  Eigen::Map<VectorXd> solved(v.data(), n);
  factor.triangularView<Eigen::Lower>().solveInPlace(solved);
  return v;
}

GaussianProcess::Prediction GaussianProcess::predict(const std::vector<double>& x) const {
  Prediction out;
  const std::vector<double> k = covariances(x);
  for (const auto& weights : weights_) out.means.push_back(vec(weights).dot(vec(k)));
  out.variance = std::max(kernel_.variance - vec(solve_lower(k)).squaredNorm(), 1e-12);
  return out;
}

std::vector<std::vector<double>> GaussianProcess::joint_samples(const std::vector<std::vector<double>>& at,
                                                                const std::vector<std::vector<double>>& normals) const {
  const auto p = static_cast<Index>(at.size());
  MatrixXd covariance = kernel_matrix({at, points_.unordered, {}}, kernel_);
  VectorXd mean(p);
  std::vector<std::vector<double>> halves;
  for (Index i = 0; i < p; ++i) {
    const auto& x = at[static_cast<std::size_t>(i)];
    halves.push_back(solve_lower(covariances(x)));
    mean[i] = predict(x).means[0];
    for (Index j = 0; j <= i; ++j) {
      covariance(i, j) -= vec(halves.back()).dot(vec(halves[static_cast<std::size_t>(j)]));
    }
  }
  const Eigen::LLT<MatrixXd> factor = factorised(std::move(covariance));
  std::vector<std::vector<double>> out;
  for (const auto& z : normals) {
    const VectorXd joint_sample = mean + factor.matrixL() * vec(z);
    out.emplace_back(joint_sample.begin(), joint_sample.end());
  }
  return out;
}

}  // namespace lanista::search
