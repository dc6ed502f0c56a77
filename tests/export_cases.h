#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/tensor.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/graph.h"

// Random models with their results, for tests of exports.
namespace lanista::testing {

/// A model with random weights, a batch of three samples, and its result in double precision.
struct ExportCase {
  std::string name;                 ///< name in messages
  graph::Graph graph;               ///< the model
  std::vector<Tensor> weights;      ///< parameters and buffers
  Tensor x;                         ///< [3, features...]; some token numbers are unknown or negative
  std::vector<std::int64_t> shape;  ///< shape of the result
  std::vector<double> y;            ///< result, in row-major order
  /// The largest allowed |seen - y| / (1 + |y|), at least 1e-5.
  ///
  /// It is eight times the change of the result through our single precision, or through changes of weights and
  /// features by half a unit in the last place.
  double tolerance = 0;
  bool is_ill_conditioned = false;  ///< the tolerance is larger than 1e-5
};

/// Returns the random model number `i` of oracle/cases.h.
ExportCase random_case(std::uint64_t i);

/// Returns `count` mutated models of oracle/cases.h.
std::vector<ExportCase> mutated_cases(std::uint64_t count);

/// Returns `each` samples of each published space of oracle/cases.h.
std::vector<ExportCase> published_cases(std::uint64_t each);

/// Returns the prediction of the model for `x` at a precision, in row-major order.
std::vector<double> computed(const graph::Graph& graph, const std::vector<Tensor>& weights, const Tensor& x,
                             Precision precision);

/// Returns the largest |seen - y| / (1 + |y|).
///
/// It is infinite if one element is finite and the other is not, or if infinities differ. Two NaN elements are equal.
double distance(const std::vector<double>& seen, const std::vector<double>& y);

}  // namespace lanista::testing
