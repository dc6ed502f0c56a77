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

// An ONNX model as values; only what our operators need (opset 17 and IR 8 are written).

using OnnxValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, Tensor>;

struct OnnxNode {
  std::string name, op;
  std::vector<std::string> inputs, outputs;  ///< an empty name: an optional input that is left out
  std::map<std::string, OnnxValue> attributes;
};

/// An input or output: float32 unless said otherwise; -1 is the batch (a symbolic dimension named "N").
struct OnnxValueInfo {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
};

struct OnnxModel {
  std::int64_t ir_version = 8, opset = 17;
  std::string producer, graph_name;
  std::vector<OnnxNode> nodes;       ///< in dependency order
  std::vector<Tensor> initializers;  ///< by name
  std::vector<OnnxValueInfo> inputs, outputs;
  std::map<std::string, std::string> metadata;
};

/// The file's bytes; equal models give equal bytes.
std::string encode_onnx(const OnnxModel& model);

/// Gives `length` bytes from `offset` of the file that a model names for data outside of itself. Whoever knows files
/// says what may be named (engine/onnx_file.h).
using OnnxExternal = std::function<Result<std::vector<std::byte>>(const std::string& location, std::uint64_t offset,
                                                                  std::uint64_t length)>;

/// Reads under caps: at most 100,000 nodes with 300,000 inputs and outputs and 100,000 attributes, 50,000 initialisers,
/// 64 dimensions, 1,048,576 integers in lists (raw_data may hold more). It recurses nowhere, sizes are checked before
/// anything is allocated. Every name is given once and before it is read; nodes may come from any version of ONNX's
/// default domain. Inputs that are initialisers as well are left out of `inputs`.
/// External data is asked of `external`. Booleans are held as uint8.
/// Errors: kDataLoss naming the rule; kUnimplemented (sub-graphs, sparse tensors, other domains, element types and
/// kinds of attributes that we do not hold, external data if nobody gives it); those of `external`.
Result<OnnxModel> decode_onnx(std::string_view bytes, const OnnxExternal& external = {});

/// One tensor from a file of its own (TensorProto, "input_0.pb"). Errors: as decode_onnx.
Result<Tensor> decode_onnx_tensor(std::string_view bytes);

}  // namespace lanista::formats
