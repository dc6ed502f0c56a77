#include "lanista/search/math/kde.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/search/math/truncated_normal.h"

namespace lanista::search {
namespace {

constexpr double kSqrtTwoPi = 2.50662827463100050242;

/// Returns the standard deviation of a number's axis, or its counterpart for a choice (kde.h).
double spread_of(const std::vector<std::vector<double>>& rows, std::size_t axis, std::size_t levels) {
  const auto n = static_cast<double>(rows.size());
  if (levels > 0) {
    std::vector<double> counts(levels, 0);
    for (const auto& row : rows) counts[static_cast<std::size_t>(row[axis])] += 1;
    double same = 0;
    for (const double count : counts) same += (count / n) * (count / n);
    return std::sqrt(std::max(0.0, 1 - same) / 2);
  }
  double mean = 0, squares = 0;
  for (const auto& row : rows) mean += row[axis] / n;
  for (const auto& row : rows) squares += (row[axis] - mean) * (row[axis] - mean) / n;
  return std::sqrt(squares);
}

}  // namespace

ProductKde::ProductKde(std::vector<std::size_t> levels, std::vector<std::vector<double>> rows)
    : levels_(std::move(levels)), rows_(std::move(rows)) {
  LANISTA_CHECK(!rows_.empty(), "a density needs at least one row");
  const double shrink =
      portable_pow(static_cast<double>(rows_.size()), -1.0 / (4.0 + static_cast<double>(levels_.size())));
  for (std::size_t axis = 0; axis < levels_.size(); ++axis) {
    double h = std::max(1.06 * spread_of(rows_, axis, levels_[axis]) * shrink, kMinBandwidth);
    if (levels_[axis] > 0) h = std::min(h, 1 - 1 / static_cast<double>(levels_[axis]));
    bandwidths_.push_back(h);
  }
  double log_hits = 0;
  for (std::size_t axis = 0; axis < levels_.size(); ++axis) {
    const double h = bandwidths_[axis];
    log_misses_.push_back(levels_[axis] > 1 ? portable_log(h / static_cast<double>(levels_[axis] - 1) / (1 - h)) : 0);
    if (levels_[axis] > 1) log_hits += portable_log(1 - h);
  }
  for (const auto& row : rows_) {
    double& log_peak = log_peaks_.emplace_back(log_hits);
    for (std::size_t axis = 0; axis < levels_.size(); ++axis) {
      if (levels_[axis] > 0) continue;
      const TruncatedNormal kernel{row[axis], bandwidths_[axis]};
      log_peak -= portable_log(kSqrtTwoPi * kernel.deviation * kernel.mass());
    }
  }
}

double ProductKde::log_density(const std::vector<double>& at) const {
  std::vector<double> terms;
  terms.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    double term = log_peaks_[i];
    for (std::size_t axis = 0; axis < levels_.size(); ++axis) {
      if (levels_[axis] == 0) {
        const double z = (at[axis] - rows_[i][axis]) / bandwidths_[axis];
        term -= 0.5 * z * z;
      } else if (at[axis] != rows_[i][axis]) {
        term += log_misses_[axis];
      }
    }
    terms.push_back(term);
  }
  const double most = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += portable_exp(term - most);
  return most + portable_log(sum / static_cast<double>(rows_.size()));
}

std::vector<double> ProductKde::sample_near_row(const Rng& rng, double widening) const {
  Rng sampling_rng = rng;
  const std::vector<double>& row = rows_[sampling_rng.below(rows_.size())];
  std::vector<double> out;
  for (std::size_t axis = 0; axis < levels_.size(); ++axis) {
    const double h = bandwidths_[axis];
    if (levels_[axis] == 0) {
      out.push_back(TruncatedNormal{row[axis], widening * h}.quantile(sampling_rng.uniform()));
    } else {
      const bool keeps = sampling_rng.uniform() < 1 - h;
      const auto any = static_cast<double>(sampling_rng.below(levels_[axis]));
      out.push_back(keeps ? row[axis] : any);
    }
  }
  return out;
}

}  // namespace lanista::search
