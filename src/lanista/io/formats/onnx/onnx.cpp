#include "lanista/io/formats/onnx/onnx.h"

#include <bit>

#include "lanista/base/check.h"
#include "lanista/io/formats/onnx/onnx_fields.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"
#include "lanista/io/formats/onnx/wire.h"

namespace lanista::formats {
namespace {

using namespace onnx;

static_assert(std::endian::native == std::endian::little, "raw_data holds elements as they lie");

WireWriter tensor_message(const Tensor& tensor) {
  WireWriter out;
  for (const std::int64_t dim : tensor.shape) out.signed_varint(tensor_field::kDims, dim);
  out.varint(tensor_field::kType, element_code(tensor.type));
  if (!tensor.name.empty()) out.bytes(tensor_field::kName, tensor.name);
  out.bytes(tensor_field::kRaw, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  return out;
}

/// Writes the value of an attribute and returns the code of its type.
struct AttributeWriter {
  WireWriter& out;

  std::uint64_t operator()(std::int64_t value) const {
    out.signed_varint(attribute_field::kInt, value);
    return attribute_type::kInt;
  }
  std::uint64_t operator()(float value) const {
    out.fixed_float(attribute_field::kFloat, value);
    return attribute_type::kFloat;
  }
  std::uint64_t operator()(const std::string& value) const {
    out.bytes(attribute_field::kString, value);
    return attribute_type::kString;
  }
  std::uint64_t operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values) out.signed_varint(attribute_field::kInts, value);
    return attribute_type::kInts;
  }
  std::uint64_t operator()(const std::vector<float>& values) const {
    for (const float value : values) out.fixed_float(attribute_field::kFloats, value);
    return attribute_type::kFloats;
  }
  std::uint64_t operator()(const Tensor& value) const {
    out.message(attribute_field::kTensor, tensor_message(value));
    return attribute_type::kTensor;
  }
};

WireWriter node_message(const OnnxNode& node) {
  WireWriter out;
  for (const std::string& name : node.inputs) out.bytes(node_field::kInputs, name);
  for (const std::string& name : node.outputs) out.bytes(node_field::kOutputs, name);
  out.bytes(node_field::kName, node.name).bytes(node_field::kOp, node.op);
  for (const auto& [name, value] : node.attributes) {
    WireWriter attribute;
    attribute.bytes(attribute_field::kName, name);
    const std::uint64_t type = std::visit(AttributeWriter{attribute}, value);
    out.message(node_field::kAttributes, attribute.varint(attribute_field::kType, type));
  }
  return out;
}

WireWriter info_message(const OnnxValueInfo& info) {
  WireWriter shape;
  for (const std::int64_t size : info.shape) {
    WireWriter dim;
    if (size < 0) {
      dim.bytes(dim_field::kSymbol, "N");
    } else {
      dim.signed_varint(dim_field::kValue, size);
    }
    shape.message(shape_field::kDims, dim);
  }
  WireWriter tensor, type, out;
  tensor.varint(tensor_type_field::kElement, element_code(info.type)).message(tensor_type_field::kShape, shape);
  type.message(type_field::kTensor, tensor);
  return out.bytes(info_field::kName, info.name).message(info_field::kType, type);
}

}  // namespace

std::string encode_onnx(const OnnxModel& model) {
  WireWriter graph;
  for (const OnnxNode& node : model.nodes) graph.message(graph_field::kNodes, node_message(node));
  graph.bytes(graph_field::kName, model.graph_name);
  for (const Tensor& t : model.initializers) graph.message(graph_field::kInitializers, tensor_message(t));
  for (const OnnxValueInfo& info : model.inputs) graph.message(graph_field::kInputs, info_message(info));
  for (const OnnxValueInfo& info : model.outputs) graph.message(graph_field::kOutputs, info_message(info));

  WireWriter opset, out;
  opset.bytes(opset_field::kDomain, "").signed_varint(opset_field::kVersion, model.opset);
  out.signed_varint(model_field::kIrVersion, model.ir_version).bytes(model_field::kProducer, model.producer);
  out.message(model_field::kGraph, graph).message(model_field::kOpsets, opset);
  for (const auto& [key, value] : model.metadata) {
    WireWriter entry;
    out.message(model_field::kMetadata, entry.bytes(entry_field::kKey, key).bytes(entry_field::kValue, value));
  }
  return out.str();
}

}  // namespace lanista::formats
