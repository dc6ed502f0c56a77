#include "lanista/plan/goodput/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lanista/plan/goodput/fast_math.h"

namespace lanista::goodput {
namespace {

constexpr double kLeast = 1e-8;  ///< Stands for zero, since parameters are in logarithms.
constexpr double kHuge = std::numeric_limits<double>::infinity();

/// A value with its derivatives by the seven parameters.
struct Dual {
  double value = 0;
  ModelVector by{};
};

/// The root mean square of errors, from the sums of their squares and of their products with derivatives.
struct SquareSum {
  double sum = 0;
  ModelVector by{};
  void add(double error, const ModelVector& error_by) {
    sum += error * error;
    for (std::size_t i = 0; i < by.size(); ++i) by[i] += error * error_by[i];
  }
  double root(double count, ModelVector& gradient) const {
    const double mean_root = std::sqrt(sum / count);
    // The root has no derivative at an exact fit. Its smallest subgradient is zero.
    if (mean_root > 1e-14) {
      for (std::size_t i = 0; i < by.size(); ++i) gradient[i] += by[i] / (count * mean_root);
    }
    return mean_root;
  }
};

/// Returns log((a^g + b^g)^(1/g)) and its derivatives, with a and b of the form alpha + beta m.
Dual log_norm(double a, double m, double b, std::size_t alpha, double more, double gamma) {
  // t = (smaller/larger)^g is in (0, 1], so nothing overflows.
  const double log_a = fast_log(a), log_b = fast_log(b);
  const double d = log_b - log_a;  // The logarithm of b/a.
  const double t = fast_exp(-gamma * std::fabs(d));
  const double log_sum = fast_log(1 + t);
  const double share_small = t / (1 + t);
  const double share_b = d > 0 ? 1 - share_small : share_small, share_a = 1 - share_b;
  Dual result;
  result.value = std::max(log_a, log_b) + log_sum / gamma;
  result.by[0] = share_a / a;
  result.by[1] = share_a * m / a;
  if (alpha != 0) {
    result.by[alpha] = share_b / b;
    result.by[alpha + 1] = share_b * more / b;
  }
  result.by[6] = -log_sum / (gamma * gamma) - std::fabs(d) * share_small / gamma;
  return result;
}

/// Returns the index of the link's first parameter, or 0 for a configuration without synchronisation.
std::size_t link_of(const StepSample& sample) {
  if (sample.nodes > 1) return 2;
  return sample.replicas > 1 ? 4 : 0;
}

struct Box {
  ModelVector start{}, low{}, high{};
  bool fixed(std::size_t i) const { return low[i] == high[i]; }
  double clamp(std::size_t i, double x) const { return std::clamp(x, low[i], high[i]); }
  void pin(std::size_t i, double x) { start[i] = low[i] = high[i] = x; }
};

Box box_of(std::span<const StepSample> samples, const ThroughputModel* begin) {
  Box box;
  box.start = begin != nullptr ? vector_of(*begin) : ModelVector{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001};
  box.low.fill(kLeast);
  box.high.fill(kHuge);
  box.low[6] = 1;
  box.high[6] = 10;
  bool across = false, within = false, many = false;
  std::set<std::int64_t> batches;
  double sum = 0;
  for (const StepSample& sample : samples) {
    batches.insert(sample.local_batch);
    sum += sample.accumulation;
    across = across || sample.nodes > 1;
    within = within || (sample.nodes == 1 && sample.replicas > 1);
    many = many || sample.replicas > 2;
  }
  if (batches.size() == 1) box.pin(0, sum / static_cast<double>(samples.size()) / 2);
  if (!across) box.pin(2, kLeast);
  if (!within) box.pin(4, kLeast);
  if (!across || !many) box.pin(3, kLeast);
  if (!within || !many) box.pin(5, kLeast);
  for (std::size_t i = 0; i < box.start.size(); ++i) box.start[i] = box.clamp(i, box.start[i]);
  return box;
}

/// BFGS over the free parameters that are not at a bound, with steps projected onto the bounds. Times are in
/// logarithms, since they are positive and of any size. gamma - 1 is not.
class Descent {
 public:
  Descent(std::span<const StepSample> samples, const Box& box) : samples_(samples), box_(box) {
    x_ = to_inner(box.start);
    for (std::size_t i = 0; i < kSize; ++i) inverse_[i][i] = 1;
  }

  FitResult run() {
    ModelVector gradient{};
    double loss = evaluate(x_, gradient);
    for (int iteration = 0; iteration < 100; ++iteration) {
      const ModelVector free_gradient = projected(gradient);
      if (norm(free_gradient) < 1e-7) break;
      ModelVector direction = downhill(free_gradient);
      if (dot(direction, free_gradient) > -1e-12 * norm(direction) * norm(free_gradient)) {
        reset();
        direction = downhill(free_gradient);
      }
      ModelVector next{}, next_gradient{};
      double next_loss = kHuge, step = std::min(1.0, 2.0 / largest(direction));
      bool lower = false;
      for (int halving = 0; halving < 25 && !lower; ++halving, step /= 2) {
        next = moved(direction, step);
        next_loss = evaluate(next, next_gradient);
        double expected = 0;
        for (std::size_t i = 0; i < kSize; ++i) expected += free_gradient[i] * (next[i] - x_[i]);
        lower = next_loss <= loss + 1e-4 * expected;
      }
      if (!lower) {
        if (fresh_) break;
        reset();
        continue;
      }
      const double gained = loss - next_loss;
      update(next, gradient, next_gradient);
      x_ = next;
      gradient = next_gradient;
      loss = next_loss;
      if (gained <= 1e-9 * std::max(1.0, std::fabs(loss))) {
        if (fresh_) break;
        reset();
      }
    }
    return {model_of(to_outer(x_)), loss, evaluations_};
  }

 private:
  static constexpr std::size_t kSize = 7;

  ModelVector to_inner(const ModelVector& v) const {
    ModelVector x = v;
    for (std::size_t i = 0; i + 1 < kSize; ++i) x[i] = fast_log(v[i]);
    return x;
  }
  ModelVector to_outer(const ModelVector& x) const {
    ModelVector v = x;
    for (std::size_t i = 0; i + 1 < kSize; ++i) v[i] = box_.clamp(i, fast_exp(x[i]));
    return v;
  }
  double evaluate(const ModelVector& x, ModelVector& gradient) {
    ++evaluations_;
    const ModelVector v = to_outer(x);
    const double loss = fit_loss(samples_, v, &gradient);
    for (std::size_t i = 0; i + 1 < kSize; ++i) gradient[i] *= v[i];
    return loss;
  }
  double low(std::size_t i) const { return i + 1 < kSize ? fast_log(box_.low[i]) : box_.low[i]; }
  double high(std::size_t i) const { return i + 1 < kSize ? 30.0 : box_.high[i]; }
  ModelVector projected(const ModelVector& gradient) const {
    ModelVector free = gradient;
    for (std::size_t i = 0; i < kSize; ++i) {
      if (box_.fixed(i) || (x_[i] <= low(i) && gradient[i] > 0) || (x_[i] >= high(i) && gradient[i] < 0)) free[i] = 0;
    }
    return free;
  }
  ModelVector downhill(const ModelVector& gradient) const {
    ModelVector direction{};
    for (std::size_t i = 0; i < kSize; ++i) {
      if (gradient[i] == 0) continue;
      for (std::size_t j = 0; j < kSize; ++j) direction[i] -= inverse_[i][j] * gradient[j];
    }
    return direction;
  }
  ModelVector moved(const ModelVector& direction, double step) const {
    ModelVector next = x_;
    for (std::size_t i = 0; i < kSize; ++i) {
      if (direction[i] != 0) next[i] = std::clamp(x_[i] + step * direction[i], low(i), high(i));
    }
    return next;
  }
  void update(const ModelVector& next, const ModelVector& before, const ModelVector& after) {
    ModelVector s{}, y{};
    for (std::size_t i = 0; i < kSize; ++i) {
      s[i] = next[i] - x_[i];
      y[i] = box_.fixed(i) ? 0 : after[i] - before[i];
    }
    const double curvature = dot(s, y);
    fresh_ = false;
    if (curvature <= 1e-12 * norm(s) * norm(y)) return;
    ModelVector hy{};
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t j = 0; j < kSize; ++j) hy[i] += inverse_[i][j] * y[j];
    }
    const double factor = (1 + dot(y, hy) / curvature) / curvature;
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t j = 0; j < kSize; ++j) {
        inverse_[i][j] += factor * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / curvature;
      }
    }
  }
  void reset() {
    inverse_ = {};
    for (std::size_t i = 0; i < kSize; ++i) inverse_[i][i] = 1;
    fresh_ = true;
  }
  static double dot(const ModelVector& a, const ModelVector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) sum += a[i] * b[i];
    return sum;
  }
  static double norm(const ModelVector& a) { return std::sqrt(dot(a, a)); }
  static double largest(const ModelVector& a) {
    double most = 1e-300;
    for (const double x : a) most = std::max(most, std::fabs(x));
    return most;
  }

  std::span<const StepSample> samples_;
  const Box& box_;
  ModelVector x_{};
  std::array<std::array<double, kSize>, kSize> inverse_{};
  bool fresh_ = true;
  int evaluations_ = 0;
};

}  // namespace

ModelVector vector_of(const ThroughputModel& m) {
  return {m.alpha_grad, m.beta_grad, m.alpha_node, m.beta_node, m.alpha_local, m.beta_local, m.gamma};
}

ThroughputModel model_of(const ModelVector& v) { return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]}; }

double fit_loss(std::span<const StepSample> samples, const ModelVector& v, ModelVector* gradient) {
  SquareSum accumulation, step;
  const double gamma = v[6];
  for (const StepSample& sample : samples) {
    const double m = static_cast<double>(sample.local_batch);
    const double a = v[0] + v[1] * m;
    ModelVector by{};
    by[0] = 1 / a;
    by[1] = m / a;
    accumulation.add(fast_log(a / sample.accumulation), by);
    const std::size_t link = link_of(sample);
    const double more = static_cast<double>(std::max<std::int64_t>(sample.replicas - 2, 0));
    const double b = link == 0 ? kLeast : v[link] + v[link + 1] * more;
    const Dual log_step = log_norm(a, m, b, link, more, gamma);
    step.add(log_step.value - fast_log(sample.step), log_step.by);
  }
  ModelVector sum{};
  const double count = static_cast<double>(samples.size());
  double loss = accumulation.root(count, sum) + step.root(count, sum);
  loss += 1e-3 * (gamma - 1) * (gamma - 1);
  sum[6] += 2e-3 * (gamma - 1);
  for (const std::size_t link : {2U, 4U}) {
    const double ratio = v[link + 1] / v[link];
    loss += 1e-2 * ratio * ratio;
    sum[link] -= 2e-2 * ratio * ratio / v[link];
    sum[link + 1] += 2e-2 * ratio / v[link];
  }
  if (gradient != nullptr) *gradient = sum;
  return loss;
}

FitResult fit_throughput(std::span<const StepSample> samples, const ThroughputModel* begin) {
  std::vector<StepSample> usable;
  for (const StepSample& sample : samples) {
    const bool finite = std::isfinite(sample.accumulation) && std::isfinite(sample.step);
    if (finite && sample.accumulation > 0 && sample.step > 0 && sample.local_batch > 0) usable.push_back(sample);
  }
  if (usable.empty()) return {begin != nullptr ? *begin : ThroughputModel{}, 0, 0};
  const Box box = box_of(usable, begin);
  FitResult result = Descent(usable, box).run();
  if (std::ranges::none_of(usable, [](const StepSample& s) { return s.nodes > 1; })) {
    result.model.alpha_node = std::max(result.model.alpha_node, result.model.alpha_local * 1.1);
    result.model.beta_node = std::max(result.model.beta_node, result.model.beta_local * 1.1);
  }
  return result;
}

}  // namespace lanista::goodput
