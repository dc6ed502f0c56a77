#include "lanista/plan/cost/time_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <Eigen/Dense>

namespace lanista::plan {
namespace {

constexpr std::size_t kNeighbours = 3;
constexpr double kMinDistance = 0.05;  ///< Added to each distance.
constexpr double kZeroWeight = 2;      ///< Weight of a residual of zero.
constexpr double kFlat = 1e-9;         ///< Largest deviation of a constant feature.

/// Returns the error of a predicted time in percent, from logarithms.
double off_percent(double predicted, double value) { return 100 * std::abs(std::exp(predicted - value) - 1); }

/// Returns a quantile of the values: the nearest one from above.
double at_share(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

/// Returns the names of the things to hold out: all, or evenly chosen ones if there are too many.
std::vector<std::string> left_out(const std::vector<TimedRow>& rows) {
  std::set<std::string> all;
  for (const TimedRow& row : rows) all.insert(row.what);
  const std::vector<std::string> things(all.begin(), all.end());
  if (things.size() <= TimeModel::kMaxLeftOut) return things;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < TimeModel::kMaxLeftOut; ++i) {
    out.push_back(things[i * things.size() / TimeModel::kMaxLeftOut]);
  }
  return out;
}

/// Returns the error for held-out things. The error of a thing is the median over its rows.
TimeError cross_error(const std::vector<TimedRow>& rows, double penalty) {
  TimeError out;
  std::vector<double> off;
  for (const std::string& thing : left_out(rows)) {
    std::vector<TimedRow> others, of_it;
    for (const TimedRow& row : rows) (row.what == thing ? of_it : others).push_back(row);
    if (others.empty()) continue;
    const TimeModel model = TimeModel::fit(std::move(others), penalty);
    std::vector<double> of_thing;
    for (const TimedRow& row : of_it) of_thing.push_back(off_percent(model.predict(row.features), row.value));
    off.push_back(at_share(std::move(of_thing), 0.5));
  }
  if (off.size() < TimeModel::kMinThings) return out;
  return {off.size(), at_share(off, 0.5), at_share(off, 0.9)};
}

}  // namespace

TimeModel TimeModel::fit(std::vector<TimedRow> rows, double penalty) {
  TimeModel model;
  model.penalty_ = penalty;
  const std::size_t width = rows.front().features.size();
  const auto count = static_cast<double>(rows.size());
  model.means_.assign(width, 0);
  model.scales_.assign(width, 0);
  model.slopes_.assign(width, 0);
  for (std::size_t f = 0; f < width; ++f) {
    for (const TimedRow& row : rows) model.means_[f] += row.features[f] / count;
    for (const TimedRow& row : rows) model.scales_[f] += std::pow(row.features[f] - model.means_[f], 2) / count;
    model.scales_[f] = std::sqrt(model.scales_[f]);
    if (model.scales_[f] < kFlat) model.scales_[f] = 0;
  }
  for (TimedRow& row : rows) {
    row.features = model.standardised(row.features);
    model.intercept_ += row.value / count;
  }
  model.min_features_ = model.max_features_ = rows.front().features;
  for (const TimedRow& row : rows) {
    for (std::size_t f = 0; f < width; ++f) {
      model.min_features_[f] = std::min(model.min_features_[f], row.features[f]);
      model.max_features_[f] = std::max(model.max_features_[f], row.features[f]);
    }
  }
  const auto n = static_cast<Eigen::Index>(rows.size()), p = static_cast<Eigen::Index>(width);
  Eigen::MatrixXd x(n, p);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const TimedRow& row = rows[static_cast<std::size_t>(i)];
    for (Eigen::Index f = 0; f < p; ++f) x(i, f) = row.features[static_cast<std::size_t>(f)];
    y(i) = row.value - model.intercept_;
  }
  const Eigen::MatrixXd normal = x.transpose() * x + penalty * Eigen::MatrixXd::Identity(p, p);
  const Eigen::VectorXd slopes = normal.ldlt().solve(x.transpose() * y);
  for (Eigen::Index f = 0; f < p; ++f) model.slopes_[static_cast<std::size_t>(f)] = slopes(f);
  const Eigen::VectorXd rest = y - x * slopes;
  model.residuals_.assign(rest.data(), rest.data() + rest.size());
  model.rows_ = std::move(rows);
  return model;
}

TimeModel TimeModel::fit(std::vector<TimedRow> rows) {
  double best = kPenalties[std::size(kPenalties) - 1];
  TimeError least = cross_error(rows, best);
  if (least.num_things > 0) {
    for (const double penalty : kPenalties) {
      const TimeError error = cross_error(rows, penalty);
      if (error.median < least.median) {
        least = error;
        best = penalty;
      }
    }
  }
  TimeModel model = fit(std::move(rows), best);
  model.error_ = least;
  return model;
}

std::vector<double> TimeModel::standardised(const std::vector<double>& features) const {
  std::vector<double> out(features.size(), 0);
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (scales_[f] > 0) out[f] = (features[f] - means_[f]) / scales_[f];
  }
  return out;
}

double TimeModel::predict(const std::vector<double>& features) const {
  const std::vector<double> at = standardised(features);
  double value = intercept_;
  for (std::size_t f = 0; f < at.size(); ++f)
    value += slopes_[f] * std::clamp(at[f], min_features_[f], max_features_[f]);
  std::vector<std::pair<double, std::size_t>> near;
  near.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    double square = 0;
    for (std::size_t f = 0; f < at.size(); ++f) square += std::pow(at[f] - rows_[i].features[f], 2);
    near.emplace_back(at.empty() ? 0 : std::sqrt(square / static_cast<double>(at.size())), i);
  }
  const std::size_t count = std::min(kNeighbours, near.size());
  std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(count));
  double sum = 0, weights = kZeroWeight;
  for (std::size_t k = 0; k < count; ++k) {
    const double weight = 1 / (near[k].first + kMinDistance);
    sum += weight * residuals_[near[k].second];
    weights += weight;
  }
  return value + sum / weights;
}

}  // namespace lanista::plan
