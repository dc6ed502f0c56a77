#include "lanista/plan/goodput/goodput.h"

#include <algorithm>
#include <cmath>

#include "lanista/plan/goodput/fast_math.h"

namespace lanista::goodput {
namespace {

constexpr double kNoSync = 1e-8;  ///< Seconds of the synchronisation of one replica.
constexpr double kSlack = 1e-8;   ///< Tolerance before a number is rounded up.

/// Returns (a^gamma + b^gamma)^(1/gamma) without overflow.
double norm(double a, double b, double gamma) {
  const double large = std::max(a, b), small = std::min(a, b);
  if (gamma == 1 || small <= 0) return gamma == 1 ? large + small : large;
  const double ratio = small / large;
  // The smaller one is below the rounding error of the larger one.
  if (ratio < 1e-16) return large;
  return large * fast_exp(fast_log(1 + fast_exp(gamma * fast_log(ratio))) / gamma);
}

std::int64_t ceiling(double x) { return static_cast<std::int64_t>(std::ceil(x - kSlack)); }

}  // namespace

double ThroughputModel::sync_seconds(std::int64_t nodes, std::int64_t replicas) const {
  if (replicas < 2) return kNoSync;
  const double more = static_cast<double>(std::max<std::int64_t>(replicas - 2, 0));
  return nodes > 1 ? alpha_node + beta_node * more : alpha_local + beta_local * more;
}

double ThroughputModel::step_seconds(std::int64_t nodes, std::int64_t replicas, double local_batch) const {
  return norm(accumulation_seconds(local_batch), sync_seconds(nodes, replicas), gamma);
}

double gain_of(const GradientStats& stats, double scale) {
  const double below = stats.var / scale + stats.sqr;
  return below > 0 ? (stats.var + stats.sqr) / below : 1;
}

double efficiency_of(const GradientStats& stats, double scale) { return gain_of(stats, scale) / scale; }

double lr_factor(RateRule rule, const GradientStats& stats, double scale) {
  switch (rule) {
    case RateRule::kAdaScale:
      return gain_of(stats, scale);
    case RateRule::kSquareRoot:
      return std::sqrt(scale);
    case RateRule::kLinear:
      return scale;
    case RateRule::kNone:
      break;
  }
  return 1;
}

double throughput_of(const ThroughputModel& model, std::int64_t nodes, std::int64_t replicas, const BatchPlan& plan) {
  const double local = static_cast<double>(plan.local);
  const double seconds = static_cast<double>(plan.accumulations) * model.accumulation_seconds(local) +
                         model.step_seconds(nodes, replicas, local);
  return static_cast<double>(plan.total(replicas)) / seconds;
}

BatchPlan plan_of_total(const BatchLimits& limits, std::int64_t total, std::int64_t replicas) {
  const std::int64_t local = ceiling(static_cast<double>(total) / static_cast<double>(replicas));
  BatchPlan plan;
  plan.accumulations = ceiling(static_cast<double>(local) / static_cast<double>(limits.max_local)) - 1;
  if (replicas == 1 && total > limits.initial) plan.accumulations = std::max<std::int64_t>(1, plan.accumulations);
  plan.local = ceiling(static_cast<double>(local) / static_cast<double>(plan.accumulations + 1));
  plan.local = std::min(plan.local, limits.most / (replicas * (plan.accumulations + 1)));
  return plan;
}

BestPlan best_plan(const JobModel& model, std::int64_t nodes, std::int64_t replicas) {
  const BatchLimits& limits = model.limits;
  if (model.rule == BatchRule::kFixed) {
    const BatchPlan plan = plan_of_total(limits, model.fixed_batch, replicas);
    if (plan.local < limits.min_local) return {0, plan};
    return {throughput_of(model.throughput, nodes, replicas, plan), plan};
  }
  constexpr int kTotals = 50;
  const double least = static_cast<double>(std::max(limits.initial, limits.min_local * replicas));
  const double most = static_cast<double>(limits.most);
  if (least > most) return {};
  const double ratio = fast_exp(fast_log(most / least) / (kTotals - 1));
  BestPlan best;
  double total = least;
  BatchPlan before;
  for (int i = 0; i < kTotals; ++i, total *= ratio) {
    const double local = std::min(total, most) / static_cast<double>(replicas);
    BatchPlan plan;
    plan.accumulations = ceiling(local / static_cast<double>(limits.max_local)) - 1;
    if (replicas == 1 && local > static_cast<double>(limits.initial) + kSlack) {
      plan.accumulations = std::max<std::int64_t>(1, plan.accumulations);
    }
    plan.local = ceiling(local / static_cast<double>(plan.accumulations + 1));
    if (plan.local < limits.min_local || plan.local > limits.max_local) continue;
    if (i > 0 && plan == before) continue;
    before = plan;
    const double scale = static_cast<double>(plan.total(replicas)) / static_cast<double>(limits.initial);
    const double goodput =
        throughput_of(model.throughput, nodes, replicas, plan) * efficiency_of(model.gradients, scale);
    if (goodput > best.goodput) best = {goodput, plan};
  }
  return best;
}

}  // namespace lanista::goodput
