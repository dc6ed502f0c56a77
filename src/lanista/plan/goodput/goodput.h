#pragma once

#include <array>
#include <cstdint>

#include "lanista/plan/goodput/application.h"

// How fast a job gets on: throughput times statistical efficiency (Pollux, Qiao et al., OSDI'21, sections 3 and 4).
namespace lanista::cluster {

/// Seconds of steps. A local batch m takes alpha_grad + beta_grad m; synchronising K replicas takes nothing for K = 1,
/// else alpha + beta (K - 2) of the link, that within a node or that between nodes; a step that synchronises takes the
/// gamma-norm of both. gamma 1: one after the other; gamma large: side by side.
struct ThroughputModel {
  double alpha_grad = 0.1, beta_grad = 0.01;
  double alpha_node = 0.1, beta_node = 0.01;    ///< between nodes
  double alpha_local = 0.1, beta_local = 0.01;  ///< within one
  double gamma = 1;                             ///< 1 to 10

  double accumulation_seconds(double local_batch) const { return alpha_grad + beta_grad * local_batch; }
  double sync_seconds(std::int64_t nodes, std::int64_t replicas) const;
  /// Of a step that synchronises.
  double step_seconds(std::int64_t nodes, std::int64_t replicas, double local_batch) const;
  bool operator==(const ThroughputModel&) const = default;
};

/// A local batch and the steps that accumulate before the one that synchronises.
struct BatchPlan {
  std::int64_t local = 1, accumulations = 0;
  std::int64_t total(std::int64_t replicas) const { return replicas * local * (accumulations + 1); }
  bool operator==(const BatchPlan&) const = default;
};

/// What a step of batch M helps, in steps of the initial batch: (var + sqr) / (var/S + sqr), S = M/M0; from 1 to S.
/// That is AdaScale's gain (Johnson et al. 2020), by which SGD's learning rate is multiplied and progress is counted.
double gain_of(const GradientStats& stats, double scale);
/// (phi + M0) / (phi + M), phi = M0 var / sqr: how much an example helps, compared with one of an initial batch.
double efficiency_of(const GradientStats& stats, double scale);

/// How the learning rate follows the batch.
enum class RateRule { kAdaScale, kSquareRoot, kLinear, kNone };
/// What it is multiplied by at S times the initial batch. kAdaScale: of a parameter group's own statistics.
double lr_factor(RateRule rule, const GradientStats& stats, double scale);

/// What the batch may be.
enum class BatchRule {
  kAdaptive,  ///< anything from the initial to the largest
  kFixed,     ///< the total is given, and every example helps as much: strong scaling
};

/// A job's model of its own speed.
struct JobModel {
  ThroughputModel throughput;
  GradientStats gradients;
  BatchLimits limits;
  BatchRule rule = BatchRule::kAdaptive;
  std::int64_t fixed_batch = 0;  ///< of kFixed
};

/// Examples a second.
double throughput_of(const ThroughputModel& model, std::int64_t nodes, std::int64_t replicas, const BatchPlan& plan);

struct BestPlan {
  double goodput = 0;  ///< useful examples a second; 0 where no batch fits
  BatchPlan plan;
};
/// The batch with the best goodput on so many replicas: of 50 totals, equally spaced in their logarithm. A single
/// replica with more than the initial batch accumulates at least once, so that its gradient noise can be measured.
BestPlan best_plan(const JobModel& model, std::int64_t nodes, std::int64_t replicas);

/// How a given total is dealt to replicas: the smallest number of accumulations that fits.
BatchPlan plan_of_total(const BatchLimits& limits, std::int64_t total, std::int64_t replicas);

/// Whether a change from what runs to `best` is worth it: more than 5 % better.
inline bool worth_changing(double running_goodput, double best_goodput) {
  return best_goodput > 1.05 * running_goodput;
}

/// Steps of the initial batch that steps of any batch were worth: where a budget ends whatever the batches were.
class ScaleInvariantProgress {
 public:
  void add_step(const GradientStats& stats, double scale) { value_ += gain_of(stats, scale); }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

}  // namespace lanista::cluster
