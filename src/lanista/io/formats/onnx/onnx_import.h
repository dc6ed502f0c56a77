#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/model/graph/graph.h"

namespace lanista::formats {

/// A model of another tool as one of ours.
struct ImportedModel {
  graph::Graph graph;           ///< verified
  std::vector<Tensor> weights;  ///< float32, named and ordered as by graph::parameters
  /// What the file subtracts from its input first, and divides it by; as in OnnxExport, empty: nothing.
  std::vector<double> mean, scale;
  /// What the user should know about it, a line each: "3 x convolution with a folded batch-norm: ...". What begins
  /// behind the number with the name of an operator and says "approximated" computes something near.
  std::vector<std::string> notices;
  std::vector<double> missing = {};  ///< what the file puts in for NaNs before all that; empty: nothing
  /// What the file multiplies the output with in the end, and then adds: as in OnnxExport, empty: nothing. Taken out of
  /// files of ours alone; of others it is part of the model.
  std::vector<double> target_mean = {}, target_scale = {};
};

struct OnnxImport {
  /// Bytes that constants and weights may take beside twice those that the file holds: ConstantOfShape makes much of
  /// little.
  std::size_t extra_bytes = std::size_t{64} << 20;
};

/// Turns the inference graph of an ONNX model (opset 9 to 28, one float input with the batch in front, one output) into
/// a model of graph::builtin_ops() that computes the same and can be trained on. A batch that the file fixes becomes
/// any batch. Constants are folded into weights; groups of nodes that stand for one of our operators (gelu, silu, group
/// norm, batch norm and what scales it) become that operator; nodes that the output does not need are passed over.
/// Errors: kUnimplemented naming node and operator, attribute or constant that has no counterpart; kDataLoss for
/// attributes and weights of the wrong kind; kInvalidArgument where shapes do not fit; kResourceExhausted if constants
/// and weights take more than they may.
Result<ImportedModel> from_onnx(const OnnxModel& model, const OnnxImport& options = {});

}  // namespace lanista::formats
