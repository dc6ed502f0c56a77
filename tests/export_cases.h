#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/tensor.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/graph.h"

// Models that nobody chose, with what they compute, for whoever checks what they are exported to.
namespace lanista::testing {

/// A model with random weights, a batch of three samples, and its result in double precision.
struct ExportCase {
  std::string name;
  graph::Graph graph;
  std::vector<Tensor> weights;
  Tensor x;                         ///< [3, features...]; of token numbers some are unknown or negative
  std::vector<std::int64_t> shape;  ///< of the result
  std::vector<double> y;
  /// How far |seen - y| / (1 + |y|) may go. 1e-5; more where our own single precision, or weights and features that
  /// differ by half a unit in the last place, move the result by more than an eighth of that: eight times as far.
  double tolerance = 0;
  bool is_ill_conditioned = false;  ///< the tolerance is larger than 1e-5
};

// The models of the oracle (oracle/cases.h): random ones by number, mutated ones, samples of each published space.
ExportCase random_case(std::uint64_t i);
std::vector<ExportCase> mutated_cases(std::uint64_t count);
std::vector<ExportCase> published_cases(std::uint64_t each);

/// What the model gives for x at this precision.
std::vector<double> computed(const graph::Graph& graph, const std::vector<Tensor>& weights, const Tensor& x,
                             Precision precision);

/// The largest |seen - y| / (1 + |y|); infinite where one is finite and the other is not, or infinities differ. Where
/// both are not numbers they agree.
double distance(const std::vector<double>& seen, const std::vector<double>& y);

}  // namespace lanista::testing
