#include "lanista/search/math/parzen.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "lanista/base/portable_math.h"
#include "lanista/search/math/truncated_normal.h"

namespace lanista::search {
namespace {

constexpr double kLogSqrtTwoPi = 0.91893853320467274178;
constexpr std::size_t kFullWeight = 25;

/// Returns the widths of the kernels at `means`: the larger distance to a neighbour. The ends of the interval are
/// neighbours only of a single observation. A width is at least 1 / min(100, n + 2), which Optuna calls magic clip.
std::vector<double> deviations(const std::vector<double>& means) {
  const std::size_t n = means.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return means[a] < means[b]; });
  const double least = 1.0 / static_cast<double>(std::min<std::size_t>(100, n + 2));
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double mean = means[order[i]];
    const double left = i > 0 ? mean - means[order[i - 1]] : (n == 1 ? mean : 0);
    const double right = i + 1 < n ? means[order[i + 1]] - mean : (n == 1 ? 1 - mean : 0);
    out[order[i]] = std::clamp(std::max(left, right), least, 1.0);
  }
  return out;
}

/// Returns the index at which the cumulative probability exceeds u.
std::size_t pick(const std::vector<double>& probs, double u) {
  for (std::size_t i = 0; i + 1 < probs.size(); ++i) {
    if (u < probs[i]) return i;
    u -= probs[i];
  }
  return probs.size() - 1;
}

}  // namespace

AxisValue axis_value_of(const space::Domain& domain, const space::Value& value) {
  if (const auto* c = std::get_if<space::Categorical>(&domain)) {
    return {static_cast<double>(std::find(c->values.begin(), c->values.end(), value) - c->values.begin())};
  }
  return {space::unit_position(domain, value), space::unit_cell(domain, value)};
}

std::vector<double> observation_weights(std::size_t n) {
  std::vector<double> weights(n, 1.0);
  if (n <= kFullWeight) return weights;
  const std::size_t old = n - kFullWeight;
  const double first = 1.0 / static_cast<double>(n);
  for (std::size_t i = 0; i < old; ++i) {
    const double t = old > 1 ? static_cast<double>(i) / static_cast<double>(old - 1) : 0;
    weights[i] = first + (1 - first) * t;
  }
  return weights;
}

Parzen::Parzen(std::vector<space::Domain> domains, const std::vector<std::vector<AxisValue>>& rows)
    : weights_(observation_weights(rows.size())) {
  weights_.push_back(1);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight /= sum;
  for (std::size_t column = 0; column < domains.size(); ++column) {
    axes_.push_back(make_axis(std::move(domains[column]), rows, column));
    only_choices_ = only_choices_ && axes_.back().kernels.empty();
  }
  if (only_choices_) return;
  for (const double weight : weights_) log_weights_.push_back(portable_log(weight));
}

Parzen::Axis Parzen::make_axis(space::Domain domain, const std::vector<std::vector<AxisValue>>& rows,
                               std::size_t column) {
  Axis axis;
  axis.domain = std::move(domain);
  if (const auto* c = std::get_if<space::Categorical>(&axis.domain)) {
    const auto count = static_cast<double>(c->values.size());
    const double prior = 1.0 / static_cast<double>(rows.size() + 1);
    for (const std::vector<AxisValue>& row : rows) axis.values.push_back(static_cast<std::size_t>(row[column].at));
    axis.miss = prior / (1 + prior * count);
    axis.hit = axis.miss + 1 / (1 + prior * count);
    axis.log_hit = portable_log(axis.hit);
    axis.log_miss = portable_log(axis.miss);
    axis.prior = 1 / count;
    axis.log_prior = -portable_log(count);
    return axis;
  }
  std::vector<double> means;
  for (const std::vector<AxisValue>& row : rows) means.push_back(row[column].at);
  const std::vector<double> widths = deviations(means);
  for (std::size_t i = 0; i < means.size(); ++i) axis.kernels.push_back({means[i], widths[i]});
  axis.kernels.push_back({0.5, 1});
  for (Kernel& kernel : axis.kernels) {
    kernel.log_mass = portable_log(TruncatedNormal{kernel.mean, kernel.deviation}.mass());
  }
  return axis;
}

std::vector<space::Value> Parzen::sample(const Rng& rng) const {
  Rng sampling_rng = rng;
  const std::size_t k = pick(weights_, sampling_rng.uniform());
  std::vector<space::Value> out;
  for (const Axis& axis : axes_) {
    const double u = sampling_rng.uniform();
    if (const auto* c = std::get_if<space::Categorical>(&axis.domain)) {
      std::vector<double> probs(c->values.size(), 1.0 / static_cast<double>(c->values.size()));
      if (k < axis.values.size()) {
        probs.assign(c->values.size(), axis.miss);
        probs[axis.values[k]] = axis.hit;
      }
      out.push_back(c->values[pick(probs, u)]);
      continue;
    }
    const Kernel& kernel = axis.kernels[k];
    out.push_back(space::value_at(axis.domain, TruncatedNormal{kernel.mean, kernel.deviation}.quantile(u)));
  }
  return out;
}

double Parzen::log_kernel(const Axis& axis, std::size_t k, const AxisValue& at) {
  if (axis.kernels.empty()) {
    if (k == axis.values.size()) return axis.log_prior;
    return axis.values[k] == static_cast<std::size_t>(at.at) ? axis.log_hit : axis.log_miss;
  }
  const Kernel& kernel = axis.kernels[k];
  if (at.cell.lo < at.cell.hi) {
    const double mass =
        normal_mass((at.cell.lo - kernel.mean) / kernel.deviation, (at.cell.hi - kernel.mean) / kernel.deviation);
    return portable_log(mass) - kernel.log_mass;
  }
  const double z = (at.at - kernel.mean) / kernel.deviation;
  return -0.5 * z * z - kLogSqrtTwoPi - portable_log(kernel.deviation) - kernel.log_mass;
}

double Parzen::choice_density(const std::vector<AxisValue>& at) const {
  double sum = 0;
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    double product = weights_[k];
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const Axis& axis = axes_[i];
      const bool is_prior = k == axis.values.size();
      product *= is_prior ? axis.prior : axis.values[k] == static_cast<std::size_t>(at[i].at) ? axis.hit : axis.miss;
    }
    sum += product;
  }
  return sum;
}

double Parzen::log_density(const std::vector<AxisValue>& at) const {
  // A plain product needs no exponential per kernel. It underflows only with hundreds of choices.
  if (only_choices_) {
    return portable_log(std::max(choice_density(at), std::numeric_limits<double>::min()));
  }
  std::vector<double> terms;
  terms.reserve(weights_.size());
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    double term = log_weights_[k];
    for (std::size_t i = 0; i < axes_.size(); ++i) term += log_kernel(axes_[i], k, at[i]);
    terms.push_back(term);
  }
  // The prior kernel is zero nowhere, so the largest term is finite.
  const double most = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += portable_exp(term - most);
  return most + portable_log(sum);
}

}  // namespace lanista::search
