#include "lanista/plan/goodput/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::goodput {

bool NoiseScale::add(std::span<const GradientSquares> norms, double samples, double scale, double represented_scale) {
  LANISTA_CHECK(samples > 1 && scale > 0 && represented_scale >= 0,
                "a step needs more than one gradient and a positive scale");
  if (represented_scale == 0) represented_scale = scale;
  LANISTA_CHECK(norms.size() == averages_.size(), "one norm for each group is needed");
  for (const GradientSquares& n : norms) {
    if (!std::isfinite(n.mean_square * std::max(1.0, scale)) || !std::isfinite(samples * n.square_of_mean))
      return false;
  }
  const double keep = portable_pow(0.999, represented_scale);
  for (std::size_t i = 0; i < averages_.size(); ++i) {
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

NoiseScale::State NoiseScale::state() const { return {averages_, weight_, steps_}; }

void NoiseScale::restore(const State& saved) {
  averages_ = saved.sums;
  weight_ = saved.weight;
  steps_ = saved.steps;
}

GradientStats NoiseScale::group(std::size_t i) const {
  if (weight_ == 0) return {0, 1e-6};
  return {std::max(averages_[i].sqr / weight_, 0.0), std::max(averages_[i].var / weight_, 1e-6)};
}

GradientStats NoiseScale::total() const {
  GradientStats sum;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    sum.sqr += group(i).sqr;
    sum.var += group(i).var;
  }
  return sum;
}

}  // namespace lanista::goodput
