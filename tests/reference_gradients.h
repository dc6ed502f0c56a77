#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::testing {

/// What a model's mean cross-entropy over a batch is, and its gradient by every parameter, in the order in which that
/// lies in row-major memory.
struct ReferenceStep {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
};

/// From the formulas, in double: value by value forward, then backward along every use, one sample after the other.
/// Knows linear, relu, tanh, sigmoid, identity, add, mul and concat of values of one dimension; throws on others.
/// Shares no code with the product but the graph it reads.
ReferenceStep reference_step(const graph::Graph& model, const std::map<std::string, std::vector<double>>& parameters,
                             const std::vector<float>& features, const std::vector<std::int32_t>& labels);

}  // namespace lanista::testing
