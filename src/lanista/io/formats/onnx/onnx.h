#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

// An ONNX model as values. It has only what lanista's operators need (opset 17 and IR 8 are written).

/// The value of an attribute of a node.
using OnnxValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, Tensor>;

/// One node of the graph of an ONNX file.
struct OnnxNode {
  std::string name;                             ///< its name, which may be empty
  std::string op;                               ///< name of its ONNX operator: "Gemm"
  std::vector<std::string> inputs, outputs;     ///< names of values; empty: an optional input that is absent
  std::map<std::string, OnnxValue> attributes;  ///< attributes by name
};

/// An input or output of a model.
struct OnnxValueInfo {
  std::string name;                      ///< name of the value
  ElementType type = ElementType::kF32;  ///< type of its elements
  std::vector<std::int64_t> shape;       ///< dimensions; -1: an unknown size such as the batch, written as "N"
};

/// The content of an ONNX file.
struct OnnxModel {
  std::int64_t ir_version = 8;                  ///< IR version of the file.
  std::int64_t opset = 17;                      ///< Version of the default operator set.
  std::string producer, graph_name;             ///< Name of the writing program; name of the graph.
  std::vector<OnnxNode> nodes;                  ///< In dependency order.
  std::vector<Tensor> initializers;             ///< Constants and weights; nodes refer to their names.
  std::vector<OnnxValueInfo> inputs, outputs;   ///< Computed inputs and outputs of the model.
  std::map<std::string, std::string> metadata;  ///< Text values by key.
  std::size_t half_tensors = 0;                 ///< Tensors of float16 or bfloat16 in a file; here they are float32.
};

/// The bytes of an ONNX file with this content. Equal models give equal bytes.
std::string encode_onnx(const OnnxModel& model);

/// A function that returns `length` bytes from byte `offset` of the external data file `location` of a model. The
/// implementation checks which files a model may name (engine/core/onnx_file.h).
using OnnxExternal = std::function<Result<std::vector<std::byte>>(const std::string& location, std::uint64_t offset,
                                                                  std::uint64_t length)>;

/// The content of the bytes of an ONNX file, with any version of the default operator set.
///
/// Limits: 100,000 nodes with 300,000 inputs and outputs and 100,000 attributes, 50,000 initialisers, 64 dimensions,
/// and 1,048,576 integers in lists (raw_data may hold more). The parser does not recurse and checks sizes before it
/// allocates. Every name must be defined once and before it is read. Inputs that are initialisers too are left out of
/// `inputs`. `external` reads external data; empty: there must be none. Booleans become uint8. Errors: kDataLoss with
/// the rule; kUnimplemented (sub-graphs, sparse tensors, other domains, unsupported element types and kinds of
/// attributes, external data without `external`); those of `external`.
Result<OnnxModel> decode_onnx(std::string_view bytes, const OnnxExternal& external = {});

/// The tensor in the bytes of a file with one TensorProto, such as "input_0.pb". Errors: kDataLoss, kUnimplemented, as
/// of decode_onnx().
Result<Tensor> decode_onnx_tensor(std::string_view bytes);

}  // namespace lanista::formats
