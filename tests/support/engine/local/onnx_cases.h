#pragma once

#include <set>
#include <string>
#include <vector>

#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/model/graph/graph.h"

// Models for tests of export and import, here and with other readers.
namespace lanista::runtime::testing {

/// A model with random weights and running statistics, and a batch of raw numbers.
struct OnnxCase {
  std::string name;
  graph::Graph graph;
  std::vector<Tensor> weights;
  formats::OnnxExport options;
  Tensor x;  ///< [n, features...].
};

/// The model with random weights and a batch of three samples, both sampled by its name.
OnnxCase make_case(std::string name, graph::Graph graph, formats::OnnxExport options = {});
/// A model of one operator, input and output for each of graph::builtin_ops(); "input" and "output" stand in all.
std::vector<OnnxCase> operator_cases();
/// The operators in the graphs of the cases.
std::set<std::string> operators_of(const std::vector<OnnxCase>& cases);
/// The built-in bases for several shapes of data, with and without normalisation.
std::vector<OnnxCase> base_cases();
/// Models that together use every operator in many forms, and `count` mutations of them and of the bases.
std::vector<OnnxCase> composed_cases();
std::vector<OnnxCase> mutated_cases(int count);

/// The program's outputs for the case's x, [n, ...], in the units of its options.
Tensor predict(const OnnxCase& one);
/// The program's outputs without a unit of targets.
Tensor predict(const graph::Graph& graph, const std::vector<Tensor>& weights, const std::vector<double>& mean,
               const std::vector<double>& scale, const Tensor& x);

}  // namespace lanista::runtime::testing
