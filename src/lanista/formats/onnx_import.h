#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/formats/onnx.h"
#include "lanista/graph/graph.h"

namespace lanista::formats {

/// A model of another tool as one of ours.
struct ImportedModel {
  graph::Graph graph;           ///< verified
  std::vector<Tensor> weights;  ///< float32, named and ordered as by graph::parameters
  /// What the file subtracts from its input first, and divides it by; as in OnnxExport, empty: nothing.
  std::vector<double> mean, scale;
};

/// Turns the inference graph of an ONNX model (opset 13 to 17, one float input with the batch in front, one output)
/// into a model of graph::builtin_ops() that computes the same and can be trained on. Constants are folded into
/// weights; groups of nodes that stand for one of our operators (gelu, silu, group norm) become that operator; nodes
/// that the output does not need are passed over.
/// Errors: kUnimplemented naming node and operator, attribute or constant that has no counterpart; kDataLoss for
/// attributes and weights of the wrong kind; kInvalidArgument where shapes do not fit; kResourceExhausted if sharing
/// makes the weights more than twice as large as the file.
Result<ImportedModel> from_onnx(const OnnxModel& model);

}  // namespace lanista::formats
