#include "lanista/inference/assessment.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lanista::inference {
namespace {

double share_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Summary of errors. `squares` is the sum of the squared distances of the targets from their mean.
Residuals summary(std::vector<double> errors, double squares) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const bool lost = std::any_of(errors.begin(), errors.end(), [](double e) { return std::isnan(e); });
  if (errors.empty() || lost) {
    Residuals out{.mean = nan, .spread = nan, .mae = nan, .rmse = nan, .r2 = nan};
    out.quantiles.fill(nan);
    return out;
  }
  const auto n = static_cast<double>(errors.size());
  Residuals out;
  double squared = 0;
  for (const double e : errors) {
    out.mae += std::fabs(e);
    squared += e * e;
  }
  out.mae /= n;
  out.rmse = std::sqrt(squared / n);
  out.r2 = errors.size() < 2 ? nan : squares > 0 ? 1 - squared / squares : squared == 0 ? 1 : 0;
  std::sort(errors.begin(), errors.end());
  for (const double e : errors) out.mean += e;
  out.mean /= n;
  for (const double e : errors) out.spread += (e - out.mean) * (e - out.mean);
  out.spread = std::sqrt(out.spread / n);
  for (std::size_t i = 0; i < kResidualPercents.size(); ++i) {
    const double position = kResidualPercents[i] * (n - 1) / 100;
    const auto below = static_cast<std::size_t>(position);
    const double part = position - static_cast<double>(below);
    const double next = errors[std::min(below + 1, errors.size() - 1)];
    // The middle of equal values is that value, also for infinite ones.
    out.quantiles[i] = next == errors[below] ? next : errors[below] + part * (next - errors[below]);
  }
  return out;
}

}  // namespace

std::vector<ClassScore> class_scores(std::span<const std::int64_t> confusion, std::int64_t classes) {
  const auto n = static_cast<std::size_t>(classes);
  std::vector<std::int64_t> predicted(n);
  std::vector<ClassScore> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out[i].rows += confusion[i * n + j];
      predicted[j] += confusion[i * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    out[i].label = static_cast<std::int64_t>(i);
    out[i].recall = share_of(confusion[i * n + i], out[i].rows);
    out[i].precision = share_of(confusion[i * n + i], predicted[i]);
  }
  return out;
}

std::vector<ClassScore> label_scores(std::span<const std::int64_t> counts) {
  std::vector<ClassScore> out;
  for (std::size_t at = 0; at + 4 <= counts.size(); at += 4) {
    const std::int64_t wrongly = counts[at + 1], missed = counts[at + 2], right = counts[at + 3];
    out.push_back({.label = static_cast<std::int64_t>(at / 4),
                   .rows = missed + right,
                   .precision = share_of(right, wrongly + right),
                   .recall = share_of(right, missed + right)});
  }
  return out;
}

std::vector<ClassScore> hardest_classes(std::span<const std::int64_t> confusion, std::int64_t classes,
                                        std::size_t most) {
  std::vector<ClassScore> all = class_scores(confusion, classes);
  std::erase_if(all, [](const ClassScore& score) { return score.rows == 0; });
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.recall < b.recall; });
  if (all.size() > most) all.resize(most);
  return all;
}

std::vector<Residuals> residuals_of(std::span<const double> predictions, std::span<const float> targets,
                                    std::int64_t width) {
  const auto numbers = static_cast<std::size_t>(width);
  std::vector<Residuals> out;
  for (std::size_t k = 0; k < numbers; ++k) {
    std::vector<double> errors;
    double mean = 0, squares = 0;  // Welford 1962
    for (std::size_t i = k; i < targets.size(); i += numbers) {
      const auto target = static_cast<double>(targets[i]);
      errors.push_back(target - predictions[i]);
      const double away = target - mean;
      mean += away / static_cast<double>(errors.size());
      squares += away * (target - mean);
    }
    out.push_back(summary(std::move(errors), squares));
  }
  return out;
}

}  // namespace lanista::inference
