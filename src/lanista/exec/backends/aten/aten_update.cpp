#include "lanista/exec/backends/aten/aten_update.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lanista/exec/program/gradient_norm.h"

namespace lanista::device {
namespace {

double whole_power(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

using H = UpdateHyperTable;

// A lane without decay does not read the parameter.
Tensor decayed(const H& hyper, const Tensor& g, const Tensor& p) {
  return at::where(hyper.is(H::kWeightDecay), hyper.of(H::kWeightDecay) * p + g, g);
}

Updated sgd(const H& hyper, const Tensor& gradients, const Tensor& p, const std::vector<Tensor>& slots) {
  const Tensor g = decayed(hyper, gradients, p), mu = hyper.of(H::kMomentum), moves = hyper.is(H::kMomentum);
  // The first momentum is the gradient. Without momentum the slot does not change.
  const Tensor momentum = at::where(hyper.is(H::kIsFirstStep), g, mu * slots[0] + g);
  const Tensor ahead = at::where(hyper.is(H::kNesterov), mu * momentum + g, momentum);
  return {hyper.of(H::kNegativeLr) * at::where(moves, ahead, g) + p, {at::where(moves, momentum, slots[0])}};
}

Updated adam_from(const H& hyper, const Tensor& g, const Tensor& p, const std::vector<Tensor>& slots) {
  const Tensor m = hyper.of(H::kBeta1) * slots[0] + hyper.of(H::kOneMinusBeta1) * g;
  const Tensor v = hyper.of(H::kBeta2) * slots[1] + (hyper.of(H::kOneMinusBeta2) * g) * g;
  return {hyper.of(H::kNegativeAdamLr) * (m / (at::sqrt(v) / hyper.of(H::kSqrtBiasCorrection) + hyper.of(H::kEps))) + p,
          {m, v}};
}

Updated adam(const H& hyper, const Tensor& g, const Tensor& p, const std::vector<Tensor>& slots) {
  return adam_from(hyper, decayed(hyper, g, p), p, slots);
}

Updated adamw(const H& hyper, const Tensor& g, const Tensor& p, const std::vector<Tensor>& slots) {
  return adam_from(hyper, g, at::where(hyper.is(H::kWeightDecay), p * hyper.of(H::kDecayFactor), p), slots);
}

Updated lion(const H& hyper, const Tensor& g, const Tensor& p, const std::vector<Tensor>& slots) {
  const Tensor toward = hyper.of(H::kBeta1) * slots[0] + hyper.of(H::kOneMinusBeta1) * g;
  const Tensor one = at::ones({}, p.options());
  const Tensor sign = at::where(toward > 0, one, at::where(toward < 0, one * -1, toward));
  return {hyper.of(H::kNegativeLr) * sign + p * hyper.of(H::kDecayFactor),
          {hyper.of(H::kBeta2) * slots[0] + hyper.of(H::kOneMinusBeta2) * g}};
}

Updated rmsprop(const H& hyper, const Tensor& gradients, const Tensor& p, const std::vector<Tensor>& slots) {
  const Tensor g = decayed(hyper, gradients, p), moves = hyper.is(H::kMomentum);
  const Tensor square = hyper.of(H::kBeta2) * slots[0] + (hyper.of(H::kOneMinusBeta2) * g) * g;
  const Tensor alone = g / (at::sqrt(square) + hyper.of(H::kEps));
  const Tensor momentum = hyper.of(H::kMomentum) * slots[1] + alone;
  return {hyper.of(H::kNegativeLr) * at::where(moves, momentum, alone) + p,
          {square, at::where(moves, momentum, slots[1])}};
}

}  // namespace

void UpdateHyperTable::write(std::span<double> row, const program::LaneHyper& h, double factor,
                             std::int64_t steps_done) {
  const double lr = h.lr * factor;
  const std::int64_t step = steps_done + 1;
  row[kNegativeLr] = -lr;
  row[kNegativeAdamLr] = -lr / (1.0 - whole_power(h.beta1, step));
  row[kMomentum] = h.momentum;
  row[kWeightDecay] = h.weight_decay;
  row[kDecayFactor] = 1.0 - lr * h.weight_decay;
  row[kBeta1] = h.beta1;
  row[kOneMinusBeta1] = 1.0 - h.beta1;
  row[kBeta2] = h.beta2;
  row[kOneMinusBeta2] = 1.0 - h.beta2;
  row[kSqrtBiasCorrection] = std::sqrt(1.0 - whole_power(h.beta2, step));
  row[kEps] = h.eps;
  row[kNesterov] = h.nesterov ? 1 : 0;
  row[kIsFirstStep] = step == 1 ? 1 : 0;
  row[kClipNorm] = h.clip_norm;
  row[kLabelSmoothing] = h.label_smoothing;
  row[kDividesBySecondMoment] = steps_done < program::kSecondMomentWarmupSteps ? 0 : 1;
  row[kSecondMomentCorrection] = program::moment_correction(h.beta2, steps_done);
}

std::vector<program::Range> lr_ranges_of(std::span<const program::Range> ranges,
                                         std::span<const program::LaneHyper> hyper) {
  std::set<std::int64_t> cuts;
  for (const program::LaneHyper& lane : hyper) {
    for (const program::LrRange& range : lane.lr_ranges) cuts.insert({range.begin, range.begin + range.count});
  }
  std::vector<program::Range> out;
  for (program::Range rest : ranges) {
    for (auto cut = cuts.upper_bound(rest.begin); cut != cuts.end() && *cut < rest.begin + rest.count; ++cut) {
      out.push_back({rest.begin, *cut - rest.begin});
      rest = {*cut, rest.begin + rest.count - *cut};
    }
    out.push_back(rest);
  }
  return out;
}

double lr_factor(const program::LaneHyper& hyper, std::int64_t element) {
  double factor = 1;
  program::for_each_lr_range(hyper.lr_ranges, element, 1, [&](auto, auto, double own) { factor = own; });
  return factor;
}

const std::map<std::string, AtenUpdate, std::less<>>& aten_updates() {
  static const std::map<std::string, AtenUpdate, std::less<>> kAll{
      {"sgd", sgd}, {"adam", adam}, {"adamw", adamw}, {"lion", lion}, {"rmsprop", rmsprop}};
  return kAll;
}

Tensor clip_scale(const UpdateHyperTable& hyper, const Tensor& gradients) {
  const Tensor doubles = gradients.to(at::kDouble);
  const Tensor wanted = hyper.doubles(H::kClipNorm) / (at::sqrt(row_sum(doubles * doubles)) + 1e-6);
  // The scale applies unless it is at least 1; NaN applies too.
  const Tensor scales = (hyper.doubles(H::kClipNorm) > 0).logical_and((wanted >= 1).logical_not());
  return at::where(scales, wanted, at::ones({}, wanted.options())).to(gradients.options());
}

}  // namespace lanista::device
