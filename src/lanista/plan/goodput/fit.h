#pragma once

#include <array>
#include <span>
#include <vector>

#include "lanista/plan/goodput/goodput.h"

// Fits a throughput model to the measured steps of a job (Pollux, OSDI'21, section 4.1).
namespace lanista::goodput {

/// Measured mean seconds of the steps at one configuration of nodes, replicas and local batch.
struct StepSample {
  std::int64_t nodes = 1;        ///< Number of nodes.
  std::int64_t replicas = 1;     ///< Number of replicas on all nodes.
  std::int64_t local_batch = 1;  ///< Samples of a replica in one pass.
  double accumulation = 0;       ///< Seconds of a pass that only accumulates gradients.
  double step = 0;               ///< Seconds of a pass that also synchronises.
};

/// The parameters of a ThroughputModel: alpha_grad, beta_grad, alpha_node, beta_node, alpha_local, beta_local, gamma.
using ModelVector = std::array<double, 7>;
/// Returns the seven parameters of a model, in the order of ModelVector.
ModelVector vector_of(const ThroughputModel& model);
/// Returns the model with these parameters.
ThroughputModel model_of(const ModelVector& v);

/// Returns the loss of the parameters `v` on the samples, at least one. If `gradient` is not null, it receives the
/// derivatives by the parameters.
///
/// The loss is the sum of the root mean squared errors of the logarithms of accumulation and step seconds, 1e-3 (gamma
/// - 1)^2, and 1e-2 times the squared beta/alpha of both links.
double fit_loss(std::span<const StepSample> samples, const ModelVector& v, ModelVector* gradient);

/// The result of a fit.
struct FitResult {
  ThroughputModel model;  ///< The fitted model.
  double loss = 0;        ///< Value of fit_loss for the model on the used samples; 0 without samples.
  int evaluations = 0;    ///< Number of evaluations of the loss.
};
/// Fits a model with a projected quasi-Newton method, from `begin` if it is not null.
///
/// Unmeasured configurations cost nothing. A link costs nothing until more than one replica used it, and its slope
/// until more than two did. With a single local batch size, half of the time counts as constant. Without steps across
/// nodes, these cost at least 1.1 times those within one. Samples with times that are not positive are left out.
/// Without any sample the result is `begin`, or a default ThroughputModel.
FitResult fit_throughput(std::span<const StepSample> samples, const ThroughputModel* begin = nullptr);

}  // namespace lanista::goodput
