#include "lanista/base/blend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b)).
double log_sum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const double most = std::max(a, b);
  // Equal infinities have no difference.
  return std::isinf(most) ? most : most + portable_log(portable_exp(a - most) + portable_exp(b - most));
}

double log_softmax_shift(std::span<const double> logits) {
  double sum = kNothing;
  for (const double x : logits) sum = log_sum(sum, x);
  return sum;
}

/// The logarithm of what a sigmoid makes of a logit.
double log_sigmoid(double x) { return -log_sum(0, -x); }

std::vector<double> mean_of(std::span<const std::vector<double>> members, std::span<const double> shares) {
  std::vector<double> out(members.front().size());
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += shares[k] * members[k][i];
  }
  return out;
}

std::vector<double> of_classes(std::span<const std::vector<double>> members, std::span<const double> shares,
                               std::size_t width) {
  std::vector<double> out(members.front().size(), kNothing);
  for (std::size_t k = 0; k < members.size(); ++k) {
    const double log_weight = portable_log(shares[k]);
    for (std::size_t at = 0; at < out.size(); at += width) {
      const double shift = log_softmax_shift(std::span(members[k]).subspan(at, width));
      for (std::size_t i = at; i < at + width; ++i) out[i] = log_sum(out[i], log_weight + members[k][i] - shift);
    }
  }
  return out;
}

std::vector<double> of_labels(std::span<const std::vector<double>> members, std::span<const double> shares) {
  std::vector<double> out(members.front().size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    double yes = kNothing, no = kNothing;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const double log_weight = portable_log(shares[k]);
      yes = log_sum(yes, log_weight + log_sigmoid(members[k][i]));
      no = log_sum(no, log_weight + log_sigmoid(-members[k][i]));
    }
    out[i] = yes - no;
  }
  return out;
}

}  // namespace

std::vector<double> blend(Blend kind, std::span<const std::vector<double>> members, std::span<const double> shares,
                          std::size_t width) {
  LANISTA_CHECK(!members.empty() && members.size() == shares.size(), "every member has a share");
  for (const auto& each : members) LANISTA_CHECK(each.size() == members.front().size(), "members predict other rows");
  LANISTA_CHECK(width > 0 && members.front().size() % width == 0, "predictions are not whole rows");
  if (members.size() == 1) return members.front();
  if (kind == Blend::kNumbers) return mean_of(members, shares);
  return kind == Blend::kClasses ? of_classes(members, shares, width) : of_labels(members, shares);
}

}  // namespace lanista
