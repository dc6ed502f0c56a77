#pragma once

#include <string>
#include <vector>

#include "lanista/io/formats/onnx/onnx_import.h"

// Small networks as other tools write them, for tests with imported models.
namespace lanista::formats::testing {

/// A network as a file and as an imported model.
struct ForeignNetwork {
  std::string name;
  OnnxModel file;
  ImportedModel model;
};

/// Five networks with random weights, each for another kind of data, in forms that lanista's exporter does not write.
///
/// - "plain-cnn", [1, 3, 12, 12], opset 9: batch of one, asymmetric pads, LRN, Dropout with two outputs, old Softmax.
/// - "residual", [N, 3, 8, 8], opset 13: batch norms followed by Mul and Add, Sum, strides, GlobalAveragePool, Flatten.
/// - "mobile", [N, 4, 10, 10], opset 12: depthwise windows, Clip as relu6, a gate for each channel, Reshape by Shape.
/// - "encoder", [N, 1, 16, 16], opset 11: auto_pad, ceil_mode, ConvTranspose, Resize, Concat, Slice, ReduceMean.
/// - "rows", [N, 12], opset 17: Gemm with alpha and beta, MatMul and Add, erf gelu, constants on values, Split.
///
/// All end in five numbers for each sample. A network that cannot be imported is a bug.
std::vector<ForeignNetwork> foreign_networks();

}  // namespace lanista::formats::testing
