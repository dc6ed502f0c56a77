#include "lanista/search/math/cma_es.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::search {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Matrix = Eigen::Map<MatrixXd>;
using Vector = Eigen::Map<VectorXd>;
using ConstMatrix = Eigen::Map<const MatrixXd>;
using ConstVector = Eigen::Map<const VectorXd>;

Vector vec(std::vector<double>& v) { return {v.data(), static_cast<Eigen::Index>(v.size())}; }
ConstVector vec(const std::vector<double>& v) { return {v.data(), static_cast<Eigen::Index>(v.size())}; }
Matrix square(std::vector<double>& v, std::size_t n) {
  return {v.data(), static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n)};
}
ConstMatrix square(const std::vector<double>& v, std::size_t n) {
  return {v.data(), static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n)};
}

}  // namespace

CmaConstants::CmaConstants(std::int64_t dimension, std::int64_t population) {
  LANISTA_CHECK(dimension >= 1, "CMA-ES needs a dimension");
  const auto n = static_cast<double>(dimension);
  lambda = population > 0 ? population : 4 + static_cast<std::int64_t>(3 * portable_log(n));
  mu = lambda / 2;
  LANISTA_CHECK(mu >= 1, "CMA-ES needs a population of at least 2");

  double sum[2] = {0, 0}, squares[2] = {0, 0};  // Of the parents, of the others.
  for (std::int64_t i = 0; i < lambda; ++i) {
    const double w = portable_log((static_cast<double>(lambda) + 1) / 2) - portable_log(static_cast<double>(i + 1));
    weights.push_back(w);
    sum[i >= mu] += w;
    squares[i >= mu] += w * w;
  }
  mu_eff = sum[0] * sum[0] / squares[0];
  const double mu_eff_negative = sum[1] * sum[1] / squares[1];

  c_1 = 2 / ((n + 1.3) * (n + 1.3) + mu_eff);
  c_mu = std::min(1 - c_1 - 1e-8, 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) * (n + 2) + mu_eff));
  c_sigma = (mu_eff + 2) / (n + mu_eff + 5);
  d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mu_eff - 1) / (n + 1)) - 1) + c_sigma;
  c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n);
  chi = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));

  double positive = 0, negative = 0;
  for (const double w : weights) (w > 0 ? positive : negative) += std::abs(w);
  // The negative weights are bounded so that the covariance stays positive definite. With two or three samples c_mu is
  // zero, and the bound does not matter.
  double bound = std::min(1 + 2 * mu_eff_negative / (mu_eff + 2), (c_mu > 0 ? 1 + c_1 / c_mu : 1));
  if (c_mu > 0) bound = std::min(bound, (1 - c_1 - c_mu) / (n * c_mu));
  for (double& w : weights) w *= w > 0 ? 1 / positive : bound / negative;
}

CmaEs::CmaEs(std::vector<double> mean, double sigma, std::int64_t population)
    : constants_(static_cast<std::int64_t>(mean.size()), population),
      mean_(std::move(mean)),
      p_sigma_(mean_.size(), 0),
      p_c_(mean_.size(), 0),
      covariance_(mean_.size() * mean_.size(), 0),
      axes_(covariance_),
      lengths_(mean_.size(), 1),
      sigma_(sigma) {
  square(covariance_, mean_.size()).setIdentity();
  decompose();
}

std::vector<double> CmaEs::sample_point(Rng& rng) const {
  const std::size_t n = mean_.size();
  VectorXd z(static_cast<Eigen::Index>(n));
  for (std::size_t i = 0; i < n; ++i) z[static_cast<Eigen::Index>(i)] = lengths_[i] * rng.normal();
  std::vector<double> x(n);
  vec(x) = vec(mean_) + sigma_ * (square(axes_, n) * z);
  return x;
}

void CmaEs::set_population(std::int64_t population) {
  constants_ = CmaConstants(static_cast<std::int64_t>(mean_.size()), population);
}

void CmaEs::update(const std::vector<RankedPoint>& ranked) {
  const CmaConstants& c = constants_;
  LANISTA_CHECK(static_cast<std::int64_t>(ranked.size()) == c.lambda,
                "the generation does not have the size of the population");
  ++generation_;
  const auto n = static_cast<double>(mean_.size());
  const auto axes = square(axes_, mean_.size());
  auto mean = vec(mean_), p_sigma = vec(p_sigma_), p_c = vec(p_c_);
  // Returns C^(-1/2) v.
  const auto whiten = [&](const VectorXd& v) -> VectorXd {
    return axes * (axes.transpose() * v).cwiseQuotient(vec(std::as_const(lengths_)));
  };
  const auto shortened = [&](VectorXd v, double scale, double longest) -> VectorXd {
    const double length = scale * whiten(v).norm();
    return length > longest ? VectorXd(v * (longest / length)) : v;
  };

  const double slack = 2 * n / (n + 2);
  std::vector<VectorXd> y;
  bool any_injected = false;
  for (const RankedPoint& member : ranked) {
    y.emplace_back((vec(member.x) - mean) / sigma_);
    if (member.is_injected) y.back() = shortened(y.back(), 1, std::sqrt(n) + slack);
    any_injected = any_injected || member.is_injected;
  }
  VectorXd step = VectorXd::Zero(mean.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.mu); ++i) step += c.weights[i] * y[i];
  mean += sigma_ * step;
  if (any_injected) step = shortened(step, std::sqrt(c.mu_eff), std::sqrt(2 * n) + slack);

  p_sigma = (1 - c.c_sigma) * p_sigma + std::sqrt(c.c_sigma * (2 - c.c_sigma) * c.mu_eff) * whiten(step);
  const double norm = p_sigma.norm();
  double growth = c.c_sigma / c.d_sigma * (norm / c.chi - 1);
  if (any_injected) growth = std::min(growth, 1.0);
  sigma_ = std::min(sigma_ * portable_exp(growth), 1e32);

  const double decay = portable_pow(1 - c.c_sigma, 2 * (static_cast<double>(generation_) + 1));
  const double h = norm / std::sqrt(1 - decay) < (1.4 + 2 / (n + 1)) * c.chi ? 1 : 0;
  p_c = (1 - c.c_c) * p_c + h * std::sqrt(c.c_c * (2 - c.c_c) * c.mu_eff) * step;

  double weight_sum = 0;
  for (const double w : c.weights) weight_sum += w;
  auto covariance = square(covariance_, mean_.size());
  covariance *= 1 + c.c_1 * (1 - h) * c.c_c * (2 - c.c_c) - c.c_1 - c.c_mu * weight_sum;
  covariance += c.c_1 * (p_c * p_c.transpose());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double scale = c.weights[i] >= 0 ? 1 : n / (whiten(y[i]).squaredNorm() + 1e-8);
    covariance += c.c_mu * c.weights[i] * scale * (y[i] * y[i].transpose());
  }
  decompose();
}

void CmaEs::update_from_ties() { sigma_ *= portable_exp(0.2 + constants_.c_sigma / constants_.d_sigma); }

void CmaEs::decompose() {
  const std::size_t n = mean_.size();
  auto covariance = square(covariance_, n);
  const MatrixXd symmetric = 0.5 * (covariance + covariance.transpose());
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  VectorXd lengths = solver.eigenvalues();
  // Rounding may make eigenvalues zero or negative. The lower bound keeps them usable, and has_converged() is true.
  const double least = 1e-16 * lengths.maxCoeff();
  for (double& x : lengths) x = std::max(x, least);
  lengths = lengths.cwiseSqrt();
  square(axes_, n) = solver.eigenvectors();
  vec(lengths_) = lengths;
  covariance = square(axes_, n) * lengths.cwiseAbs2().asDiagonal() * square(axes_, n).transpose();
}

double CmaEs::longest_axis_deviation() const { return sigma_ * *std::max_element(lengths_.begin(), lengths_.end()); }

bool CmaEs::has_converged() const {
  const auto [shortest, longest] = std::minmax_element(lengths_.begin(), lengths_.end());
  return *longest * *longest > 1e14 * *shortest * *shortest || longest_axis_deviation() < 1e-12 ||
         !std::isfinite(sigma_);
}

}  // namespace lanista::search
