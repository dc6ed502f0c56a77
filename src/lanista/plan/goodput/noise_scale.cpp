#include "lanista/plan/goodput/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::goodput {

bool NoiseScale::add(std::span<const GradientSquares> norms, double samples, double scale, double represented_scale) {
  LANISTA_CHECK(samples > 1 && scale > 0 && represented_scale >= 0,
                "a step needs more than one gradient and a positive scale");
  if (is_biased_) {
    averages_.clear();
    weight_ = 0;
    steps_ = 0;
    is_biased_ = false;
  }
  return accumulate(norms, samples, scale, represented_scale > 0 ? represented_scale : scale);
}

bool NoiseScale::add_single(std::span<const double> now, std::span<const double> before,
                            std::span<const double> square_of_mean, double scale) {
  LANISTA_CHECK(now.size() == groups_ && before.size() == groups_ && square_of_mean.size() == groups_,
                "one norm for each group is needed");
  if (steps_ > 0 && !is_biased_) return true;  // Unbiased estimates are kept.
  std::vector<GradientSquares> norms;
  for (std::size_t i = 0; i < groups_; ++i) norms.push_back({(now[i] + before[i]) / 2, square_of_mean[i]});
  if (!accumulate(norms, 2, 2 * scale, 2 * scale)) return false;
  is_biased_ = true;
  return true;
}

bool NoiseScale::accumulate(std::span<const GradientSquares> norms, double samples, double scale,
                            double represented_scale) {
  LANISTA_CHECK(norms.size() == groups_, "one norm for each group is needed");
  for (const GradientSquares& n : norms) {
    if (!std::isfinite(n.mean_square * std::max(1.0, scale)) || !std::isfinite(samples * n.square_of_mean))
      return false;
  }
  averages_.resize(groups_);
  const double keep = portable_pow(0.999, represented_scale);
  for (std::size_t i = 0; i < groups_; ++i) {
    const GradientSquares& n = norms[i];
    const double sqr = (samples * n.square_of_mean - n.mean_square) / (samples - 1);
    const double var = (n.mean_square - n.square_of_mean) * scale / (samples - 1);
    averages_[i].sqr = keep * averages_[i].sqr + (1 - keep) * sqr;
    averages_[i].var = keep * averages_[i].var + (1 - keep) * var;
  }
  weight_ = keep * weight_ + (1 - keep);
  ++steps_;
  return true;
}

NoiseScale::State NoiseScale::state() const { return {averages_, weight_, steps_, is_biased_}; }

void NoiseScale::restore(const State& saved) {
  averages_ = saved.sums;
  groups_ = saved.sums.size();
  weight_ = saved.weight;
  steps_ = saved.steps;
  is_biased_ = saved.is_biased;
}

GradientStats NoiseScale::group(std::size_t i) const {
  if (weight_ == 0) return {0, 1e-6};
  return {std::max(averages_[i].sqr / weight_, 0.0), std::max(averages_[i].var / weight_, 1e-6)};
}

GradientStats NoiseScale::total() const {
  GradientStats sum;
  for (std::size_t i = 0; i < groups_; ++i) {
    sum.sqr += group(i).sqr;
    sum.var += group(i).var;
  }
  return sum;
}

std::optional<double> NoiseScale::noise_scale(std::int64_t initial_batch, std::int64_t least_steps) const {
  const GradientStats stats = total();
  if (steps_ < least_steps || stats.sqr <= 0) return {};
  return static_cast<double>(initial_batch) * stats.var / stats.sqr;
}

}  // namespace lanista::goodput
