#pragma once

#include <array>
#include <span>
#include <vector>

#include "lanista/plan/goodput/goodput.h"

// What a job's own steps say of how fast it would be elsewhere (Pollux, section 4.1).
namespace lanista::cluster {

/// Mean seconds at a configuration: of a step that only accumulates, and of one that synchronises.
struct StepSample {
  std::int64_t nodes = 1, replicas = 1, local_batch = 1;
  double accumulation = 0, step = 0;
};

/// The seven numbers as a vector: alpha_grad, beta_grad, alpha_node, beta_node, alpha_local, beta_local, gamma.
using ModelVector = std::array<double, 7>;
ModelVector vector_of(const ThroughputModel& model);
ThroughputModel model_of(const ModelVector& v);

/// What a fit makes small: root mean squared errors of the logarithms of both times, 1e-3 (gamma - 1)^2, and 1e-2 of
/// the squared beta/alpha of both links. Fills `gradient`, if there is one, with the derivatives by the seven numbers.
double fit_loss(std::span<const StepSample> samples, const ModelVector& v, ModelVector* gradient);

struct FitResult {
  ThroughputModel model;
  double loss = 0;
  int evaluations = 0;
};
/// Fits a model by a projected quasi-Newton method, beginning where `begin` is if it says so. What was never seen costs
/// nothing: links until more than one replica used them, their slopes until more than two did; of a single local batch
/// half of the time counts as constant. Without steps across nodes these cost at least 1.1 times those within one.
/// Samples with times that are no positive numbers are left out; without any the model is the starting point.
FitResult fit_throughput(std::span<const StepSample> samples, const ThroughputModel* begin = nullptr);

}  // namespace lanista::cluster
