#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::testing {

/// Limits of a random model.
struct RandomModelOptions {
  std::int64_t max_operators = 12;     ///< sampled operators, without those that only adapt shapes
  std::int64_t max_elements = 128;     ///< of a value for one sample
  std::int64_t max_weights = 1500;     ///< elements of a parameter
  bool classes = false;                ///< the output is [N, classes] with two or more
  std::set<std::string> without = {};  ///< flatten, reshape, linear and add may still occur
};

/// Returns a random valid model over all operators of the table.
///
/// Models are chains and graphs with joins, in which one or several nodes read a value once or several times.
/// Operators, inputs and attributes are sampled, and kept if shape inference accepts them. A new operator of the table
/// therefore needs no change here. `random_attrs.h` raises the probability of accepted attributes. Equal `rng` give
/// equal models.
graph::Graph random_model(Rng rng, const graph::OpTable& ops, const RandomModelOptions& options = {});

/// Returns features of `n` samples for the model's input: standard normal numbers, or token numbers.
///
/// One token number in five is negative or too large for the smallest vocabulary that reads it.
std::vector<float> random_features(Rng& rng, const graph::Graph& model, const graph::OpTable& ops, std::int64_t n);

}  // namespace lanista::testing
