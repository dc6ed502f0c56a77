#include "lanista/plan/goodput/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::cluster {

double preconditioned_square(std::span<const double> gradient, std::span<const double> preconditioner) {
  LANISTA_CHECK(preconditioner.empty() || preconditioner.size() == gradient.size(),
                "a preconditioner for every number");
  double sum = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = preconditioner.empty() ? gradient[i] : gradient[i] / preconditioner[i];
    sum += g * g;
  }
  return sum;
}

bool NoiseScale::add(std::span<const GradientNorms> norms, double samples, double scale, double stands_for) {
  LANISTA_CHECK(samples > 1 && scale > 0 && stands_for >= 0, "more than one gradient, of a batch");
  if (biased_) {
    averages_.clear();
    weight_ = 0;
    steps_ = 0;
    biased_ = false;
  }
  return take(norms, samples, scale, stands_for > 0 ? stands_for : scale);
}

bool NoiseScale::add_single(std::span<const double> now, std::span<const double> before,
                            std::span<const double> square_of_mean, double scale) {
  LANISTA_CHECK(now.size() == groups_ && before.size() == groups_ && square_of_mean.size() == groups_,
                "norms of every group");
  if (steps_ > 0 && !biased_) return true;  // better ones are known
  std::vector<GradientNorms> norms;
  for (std::size_t i = 0; i < groups_; ++i) norms.push_back({(now[i] + before[i]) / 2, square_of_mean[i]});
  if (!take(norms, 2, 2 * scale, 2 * scale)) return false;
  biased_ = true;
  return true;
}

bool NoiseScale::take(std::span<const GradientNorms> norms, double samples, double scale, double stands_for) {
  LANISTA_CHECK(norms.size() == groups_, "norms of every group");
  for (const GradientNorms& n : norms) {
    if (!std::isfinite(n.mean_square * std::max(1.0, scale)) || !std::isfinite(samples * n.square_of_mean)) return false;
  }
  averages_.resize(groups_);
  const double keep = portable_pow(0.999, stands_for);
  for (std::size_t i = 0; i < groups_; ++i) {
    const GradientNorms& n = norms[i];
    const double sqr = (samples * n.square_of_mean - n.mean_square) / (samples - 1);
    const double var = (n.mean_square - n.square_of_mean) * scale / (samples - 1);
    averages_[i].sqr = keep * averages_[i].sqr + (1 - keep) * sqr;
    averages_[i].var = keep * averages_[i].var + (1 - keep) * var;
  }
  weight_ = keep * weight_ + (1 - keep);
  ++steps_;
  return true;
}

NoiseScale::Known NoiseScale::known() const { return {averages_, weight_, steps_, biased_}; }

void NoiseScale::restore(const Known& known) {
  averages_ = known.sums;
  groups_ = known.sums.size();
  weight_ = known.weight;
  steps_ = known.steps;
  biased_ = known.biased;
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

}  // namespace lanista::cluster
