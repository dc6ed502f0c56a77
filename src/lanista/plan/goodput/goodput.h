#pragma once

#include <array>
#include <cstdint>

#include "lanista/plan/goodput/application.h"

// Goodput: throughput times statistical efficiency (Pollux, Qiao et al., OSDI'21, sections 3 and 4).
namespace lanista::goodput {

/// Predicts the seconds of steps.
///
/// A forward and backward pass over a local batch of m samples needs a = alpha_grad + beta_grad m. The synchronisation
/// of K replicas needs b = alpha + beta (K - 2) of its link, and nothing for K = 1. A step that synchronises needs
/// (a^gamma + b^gamma)^(1/gamma). Gamma 1 means one after the other; a large gamma means both at once.
struct ThroughputModel {
  double alpha_grad = 0.1;   ///< Constant seconds of a pass.
  double beta_grad = 0.01;   ///< Seconds of a pass for each sample.
  double alpha_node = 0.1;   ///< Constant seconds of a synchronisation between nodes.
  double beta_node = 0.01;   ///< Seconds for each replica above two, between nodes.
  double alpha_local = 0.1;  ///< Constant seconds of a synchronisation within a node.
  double beta_local = 0.01;  ///< Seconds for each replica above two, within a node.
  double gamma = 1;          ///< Overlap of pass and synchronisation, from 1 to 10.

  /// Returns the seconds of a pass over `local_batch` samples that only accumulates gradients.
  double accumulation_seconds(double local_batch) const { return alpha_grad + beta_grad * local_batch; }
  /// Returns the seconds of a synchronisation of all replicas, within one node or between several (`nodes` above 1). It
  /// is 1e-8 for one replica.
  double sync_seconds(std::int64_t nodes, std::int64_t replicas) const;
  /// Returns the seconds of a pass with synchronisation; `local_batch` is the number of samples of a replica.
  double step_seconds(std::int64_t nodes, std::int64_t replicas, double local_batch) const;
  bool operator==(const ThroughputModel&) const = default;
};

/// The batch of a replica in one step, and its gradient accumulation.
struct BatchPlan {
  std::int64_t local = 1;          ///< Samples of a replica in one pass.
  std::int64_t accumulations = 0;  ///< Passes that only accumulate before each one that synchronises.
  /// Returns the batch size of all replicas, in samples.
  std::int64_t total(std::int64_t replicas) const { return replicas * local * (accumulations + 1); }
  bool operator==(const BatchPlan&) const = default;
};

/// Returns the progress of a step of S times the initial batch M0, in steps of M0: from 1 to S. `scale` is S.
///
/// It is (var + sqr) / (var/S + sqr), AdaScale's gain (Johnson et al. 2020), and 1 if both statistics are 0. With
/// RateRule::kAdaScale the learning rate is multiplied by it. `scale` must be at least 1.
double gain_of(const GradientStats& stats, double scale);
/// Returns the statistical efficiency (phi + M0) / (phi + M) with phi = M0 var / sqr, from 0 to 1. `scale` is M/M0. It
/// is 1 / scale if both statistics are 0.
double efficiency_of(const GradientStats& stats, double scale);

/// How the learning rate follows the batch size.
enum class RateRule {
  kAdaScale,    ///< By gain_of.
  kSquareRoot,  ///< By the square root of the scale.
  kLinear,      ///< By the scale.
  kNone,        ///< Not at all.
};
/// Returns the factor of the learning rate at `scale` times the initial batch. Only kAdaScale reads `stats`.
double lr_factor(RateRule rule, const GradientStats& stats, double scale);

/// Which batch sizes a job may have.
enum class BatchRule {
  kAdaptive,  ///< Any size from the initial to the largest.
  kFixed,     ///< A given size; every sample has the same value (strong scaling).
};

/// A job's model of its own speed and gradient noise, from which its goodput follows.
struct JobModel {
  ThroughputModel throughput;             ///< Times of steps.
  GradientStats gradients;                ///< Statistics of its gradient.
  BatchLimits limits;                     ///< Bounds of its batch sizes.
  BatchRule rule = BatchRule::kAdaptive;  ///< Which sizes it may have.
  std::int64_t fixed_batch = 0;           ///< Batch size of all replicas with kFixed, in samples; else not used.
};

/// Returns the samples a second of all replicas, with the accumulating passes of `plan`.
double throughput_of(const ThroughputModel& model, std::int64_t nodes, std::int64_t replicas, const BatchPlan& plan);

/// The batch with the best goodput, and that goodput.
struct BestPlan {
  double goodput = 0;  ///< Useful samples a second; 0 if no batch size fits.
  BatchPlan plan;      ///< The batch.
};
/// Returns the batch with the best goodput, of 50 sizes that are equally spaced in their logarithm.
///
/// With kFixed it is the given batch instead, and its goodput is its throughput. A single replica with more than the
/// initial batch accumulates at least once, so that its gradient noise can be measured. The goodput is 0 if no size
/// fits.
BestPlan best_plan(const JobModel& model, std::int64_t nodes, std::int64_t replicas);

/// Returns how replicas share a batch of `total` samples. It accumulates as rarely as possible with at most
/// limits.max_local samples of a replica in one pass, and at least once for one replica above limits.initial.
///
/// Sizes are rounded up, and then reduced so that all replicas together have at most limits.most. So the sum may differ
/// from `total`. The caller checks limits.min_local.
BatchPlan plan_of_total(const BatchLimits& limits, std::int64_t total, std::int64_t replicas);

/// Returns true if `best_goodput` is more than 5 % above `running_goodput`.
inline bool worth_changing(double running_goodput, double best_goodput) {
  return best_goodput > 1.05 * running_goodput;
}

}  // namespace lanista::goodput
