#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::testing {

/// The loss of a model for one batch, and its gradients.
struct ReferenceStep {
  double loss = 0;                                       ///< mean cross-entropy in nats
  std::map<std::string, std::vector<double>> gradients;  ///< by parameter, in row-major order
};

/// Computes loss and gradients by the formulas, in double precision, sample by sample.
///
/// It supports linear, relu, tanh, sigmoid, identity, add, mul and concat on values of one dimension, and throws for
/// other operators. It shares no code with the product except the graph.
ReferenceStep reference_step(const graph::Graph& model, const std::map<std::string, std::vector<double>>& parameters,
                             const std::vector<float>& features, const std::vector<std::int32_t>& labels);

}  // namespace lanista::testing
