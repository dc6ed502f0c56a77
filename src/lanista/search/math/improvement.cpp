#include "lanista/search/math/improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/portable_math.h"
#include "lanista/search/sampler/sobol.h"

namespace lanista::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Point = std::vector<double>;

/// Returns the points with variances, which are divided by scale^2.
Points with_uncertainty(const Points& points, std::vector<double> variances, double scale) {
  for (double& v : variances) v /= scale * scale;
  return {points.x, points.unordered, std::move(variances)};
}
/// Returns the points with the variances of one constraint.
Points with_uncertainty(const EvaluatedPoints& known, std::size_t constraint, double scale) {
  return with_uncertainty(known.points,
                          known.excess_uncertainty.empty() ? Point() : known.excess_uncertainty[constraint], scale);
}

/// Returns the points followed by the pending ones, which have no uncertainty.
Points joined(Points points, const std::vector<Point>& pending) {
  points.x.insert(points.x.end(), pending.begin(), pending.end());
  if (!points.uncertainty.empty()) points.uncertainty.resize(points.x.size(), 0);
  return points;
}

/// Returns quasi-random standard normal vectors, the same ones for every proposal.
std::vector<Point> normals(std::size_t dimension, std::int64_t count) {
  std::vector<Point> out;
  for (std::int64_t i = 0; i < count; ++i) {
    out.push_back(sobol_point(dimension, static_cast<std::uint64_t>(i), Scramble::kShift, Rng(1)));
    for (double& u : out.back()) u = normal_quantile(std::max(u, 1e-10));
  }
  return out;
}

/// Returns the lowest standardised loss of a feasible point, or infinity.
double incumbent(const EvaluatedPoints& known, const std::vector<double>& values) {
  double best = kInfinity;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (known.feasible(i)) best = std::min(best, values[i]);
  }
  return best;
}

}  // namespace

bool EvaluatedPoints::feasible(std::size_t point) const {
  if (!measured[point] || std::isnan(losses[point])) return false;
  return std::all_of(excesses.begin(), excesses.end(), [&](const auto& excess) { return excess[point] <= 0; });
}

Standardised standardised(const std::vector<double>& raw) {
  double lowest = kInfinity, highest = -kInfinity;
  for (const double y : raw) {
    if (std::isfinite(y)) lowest = std::min(lowest, y), highest = std::max(highest, y);
  }
  if (lowest > highest) lowest = highest = 1;  // Nothing was measured. As an excess, 1 is a violation.
  // Values are scaled to [-1, 1] first, where squares and differences do not overflow.
  const double largest = std::max(std::abs(lowest), std::abs(highest));
  const double unit = largest > 0 ? largest : 1;
  Standardised out;
  double mean = 0, square = 0;
  for (const double y : raw) {
    out.values.push_back((std::isnan(y) ? highest : std::clamp(y, lowest, highest)) / unit);
    mean += out.values.back() / static_cast<double>(raw.size());
  }
  for (double& y : out.values) square += (y - mean) * (y - mean);
  double deviation = std::sqrt(square / static_cast<double>(std::max<std::size_t>(raw.size(), 1)));
  if (lowest == highest || !(deviation > 0)) {
    std::fill(out.values.begin(), out.values.end(), mean);
    deviation = 1;
  }
  for (double& y : out.values) y = (y - mean) / deviation;
  out.zero = -mean / deviation;
  out.scale = std::max(deviation * unit, std::numeric_limits<double>::min());
  return out;
}

Improvement::Kernels Improvement::fit(const EvaluatedPoints& known) {
  const Standardised losses = standardised(known.losses);
  Kernels out;
  out.loss = fit_kernel(with_uncertainty(known.points, known.uncertainty, losses.scale), losses.values);
  for (std::size_t k = 0; k < known.excesses.size(); ++k) {
    const Standardised excess = standardised(known.excesses[k]);
    out.excesses.push_back(fit_kernel(with_uncertainty(known, k, excess.scale), excess.values));
  }
  return out;
}

Improvement::Improvement(const EvaluatedPoints& known, const Kernels& kernels, const std::vector<Point>& pending,
                         std::int64_t fantasies) {
  const Standardised losses = standardised(known.losses);
  const Points points = with_uncertainty(known.points, known.uncertainty, losses.scale);
  const double best = incumbent(known, losses.values);

  std::vector<bool> is_expected_feasible(pending.size(), true);
  for (std::size_t k = 0; k < known.excesses.size(); ++k) {
    const Standardised excess = standardised(known.excesses[k]);
    const Points at = with_uncertainty(known, k, excess.scale);
    GaussianProcess process(at, {excess.values}, kernels.excesses[k]);
    std::vector<double> with_expected = excess.values;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const double mean = process.predict(pending[i]).means[0];
      is_expected_feasible[i] = is_expected_feasible[i] && mean <= excess.zero;
      with_expected.push_back(best < kInfinity ? mean : std::max(mean, excess.zero));
    }
    if (!pending.empty()) {
      process = GaussianProcess(joined(at, pending), {std::move(with_expected)}, kernels.excesses[k]);
    }
    constraint_models_.push_back({std::move(process), excess.zero});
  }

  if (best == kInfinity) return;
  process_.emplace(points, std::vector<std::vector<double>>{losses.values}, kernels.loss);
  incumbents_ = {best};
  if (pending.empty()) return;
  std::vector<std::vector<double>> columns;
  incumbents_.clear();
  for (const Point& fantasy : process_->joint_samples(pending, normals(pending.size(), fantasies))) {
    columns.push_back(losses.values);
    columns.back().insert(columns.back().end(), fantasy.begin(), fantasy.end());
    incumbents_.push_back(best);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (is_expected_feasible[i]) incumbents_.back() = std::min(incumbents_.back(), fantasy[i]);
    }
  }
  process_.emplace(joined(points, pending), columns, kernels.loss);
}

double Improvement::log_feasible(const Point& x) const {
  double sum = 0;
  for (const ConstraintModel& model : constraint_models_) {
    const GaussianProcess::Prediction seen = model.process.predict(x);
    sum += log_normal_cdf((model.bound - seen.means[0]) / std::sqrt(seen.variance));
  }
  return sum;
}

double Improvement::score(const Point& x) const {
  const double feasible = log_feasible(x);
  if (incumbents_.empty()) return feasible;
  const GaussianProcess::Prediction seen = process_->predict(x);
  const double sigma = std::sqrt(seen.variance);
  std::vector<double> logs;
  for (std::size_t i = 0; i < seen.means.size(); ++i) {
    logs.push_back(log_improvement((incumbents_[i] - seen.means[i]) / sigma));
  }
  // The logarithm of the mean of the expected improvements.
  const double highest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double log : logs) sum += portable_exp(log - highest);
  return highest + portable_log(sum / static_cast<double>(logs.size())) + portable_log(sigma) + feasible;
}

}  // namespace lanista::search
