#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/onnx_origins.h"
#include "lanista/model/graph/graph.h"

namespace lanista::formats {

/// A model in lanista's operators that was made from an ONNX model.
struct ImportedModel {
  graph::Graph graph;           ///< Graph of the model; graph::verify() accepts it.
  std::vector<Tensor> weights;  ///< float32, named and ordered as by graph::parameters.
  /// Normalisation of the raw input that the file contains, as in OnnxExport. Empty: none.
  std::vector<double> mean, scale;
  /// Texts for the user, one line each: "3 x convolution with a folded batch-norm: ...".
  std::vector<std::string> notices;
  std::vector<double> missing = {};  ///< Number that replaces NaN, one for each raw feature; empty: none.
  /// The unit of the targets, as in OnnxExport. Empty: none. It is found only in files that lanista wrote; in other
  /// files it is part of the model.
  std::vector<double> target_mean = {}, target_scale = {};
  /// Numbers in double that the file subtracts from its raw input, before `mean`, and adds to its output. Both are none
  /// for files with float at both ends.
  OnnxOrigins origins = {};
};

/// The means in the unit of the raw input: `mean` with origins added, one for each entry of the finer of both. Empty:
/// none.
std::vector<double> whole_means(const ImportedModel& model);

/// Limits of an import.
struct OnnxImport {
  /// Bytes that constants and weights may use in addition to twice the bytes in the file. A ConstantOfShape makes a
  /// large tensor from a few bytes.
  std::size_t extra_bytes = std::size_t{64} << 20;
};

/// Converts the inference graph of an ONNX model to a model of graph::builtin_ops() that computes the same and can be
/// trained.
///
/// The model has opset 9 to 28, one output, and one input: float, or int64 or int32 for tokens. An input or output in
/// double is read where only an origin separates it from float (OnnxOrigins). Its batch is the first
/// size, and all other sizes are known. A fixed batch becomes any batch.
/// Constants are folded into weights. Groups of nodes that form one operator (gelu, silu, group norm, batch norm with
/// its scale) become that operator. Nodes that the output does not need are ignored. Errors: kUnimplemented with the
/// node and the operator, attribute or constant without counterpart; kDataLoss for attributes and weights of the wrong
/// kind; kInvalidArgument for shapes that do not fit; kResourceExhausted if constants and weights exceed their limit.
Result<ImportedModel> from_onnx(const OnnxModel& model, const OnnxImport& options = {});

}  // namespace lanista::formats
