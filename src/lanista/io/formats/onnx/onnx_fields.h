#pragma once

#include <cstdint>

// The part of onnx.proto (ONNX 1.12, IR 8) that is used: fields of its messages and codes of its enumerations.
namespace lanista::formats::onnx {

namespace model_field {
/// Field numbers of ModelProto.
enum : int { kIrVersion = 1, kProducer = 2, kGraph = 7, kOpsets = 8, kMetadata = 14, kFunctions = 25 };
}  // namespace model_field
namespace opset_field {
/// Field numbers of OperatorSetIdProto.
enum : int { kDomain = 1, kVersion = 2 };
}  // namespace opset_field
namespace entry_field {
/// Field numbers of StringStringEntryProto.
enum : int { kKey = 1, kValue = 2 };
}  // namespace entry_field
namespace graph_field {
/// Field numbers of GraphProto.
enum : int { kNodes = 1, kName = 2, kInitializers = 5, kInputs = 11, kOutputs = 12, kSparseInitializers = 15 };
}  // namespace graph_field
namespace node_field {
/// Field numbers of NodeProto.
enum : int { kInputs = 1, kOutputs = 2, kName = 3, kOp = 4, kAttributes = 5, kDomain = 7 };
}  // namespace node_field
namespace attribute_field {
/// Field numbers of AttributeProto.
enum : int { kName = 1, kFloat = 2, kInt = 3, kString = 4, kTensor = 5, kFloats = 7, kInts = 8, kType = 20 };
}  // namespace attribute_field
namespace tensor_field {
/// Field numbers of TensorProto.
enum : int {
  kDims = 1,
  kType = 2,
  kSegment = 3,
  kFloats = 4,
  kInt32s = 5,
  kStrings = 6,
  kInt64s = 7,
  kName = 8,
  kRaw = 9,
  kDoubles = 10,
  kUint64s = 11,
  kExternal = 13,
  kLocation = 14
};
}  // namespace tensor_field
namespace info_field {
/// Field numbers of ValueInfoProto.
enum : int { kName = 1, kType = 2 };
}  // namespace info_field
namespace type_field {
/// Field numbers of TypeProto.
enum : int { kTensor = 1, kDenotation = 6 };
}  // namespace type_field
namespace tensor_type_field {
/// Field numbers of TypeProto.Tensor.
enum : int { kElement = 1, kShape = 2 };
}  // namespace tensor_type_field
namespace shape_field {
/// Field numbers of TensorShapeProto.
enum : int { kDims = 1 };
}  // namespace shape_field
namespace dim_field {
/// Field numbers of TensorShapeProto.Dimension.
enum : int { kValue = 1, kSymbol = 2 };
}  // namespace dim_field

namespace element {
/// Codes of element types (TensorProto.DataType).
enum : int { kFloat = 1, kUint8 = 2, kInt32 = 6, kInt64 = 7, kBool = 9, kFloat16 = 10, kDouble = 11, kBfloat16 = 16 };
}  // namespace element
namespace attribute_type {
/// Codes of kinds of attributes (AttributeProto.AttributeType).
enum : int { kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kGraph = 5, kFloats = 6, kInts = 7, kGraphs = 10 };
}  // namespace attribute_type

}  // namespace lanista::formats::onnx
