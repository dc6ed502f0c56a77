#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/text.h"
#include "support/io/formats/test_support.h"

// Small ONNX models, and what the import makes of them.
namespace lanista::formats::test {

inline Tensor floats(std::string name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return tensor(std::move(name), ElementType::kF32, std::move(shape), values);
}
inline Tensor integers(std::string name, const std::vector<std::int64_t>& values) {
  return tensor(std::move(name), ElementType::kI64, {static_cast<std::int64_t>(values.size())}, values);
}

/// A node with the name of its output.
inline OnnxNode node(std::string op, std::vector<std::string> inputs, const std::string& output = "y",
                     std::map<std::string, OnnxValue> attributes = {}) {
  return {.name = output,
          .op = std::move(op),
          .inputs = std::move(inputs),
          .outputs = {output},
          .attributes = std::move(attributes)};
}

/// A model from "x" of this shape, batch included, to "y".
inline OnnxModel model_with_batch(std::vector<std::int64_t> shape, std::vector<OnnxNode> nodes,
                                  std::vector<Tensor> constants = {}) {
  OnnxModel made;
  made.inputs = {{.name = "x", .type = ElementType::kF32, .shape = std::move(shape)}};
  made.outputs = {{.name = "y", .type = ElementType::kF32, .shape = {}}};
  made.nodes = std::move(nodes);
  made.initializers = std::move(constants);
  return made;
}

/// The graph between input and output as text, or "code: message".
inline std::string imported(const OnnxModel& model) {
  const auto result = from_onnx(model);
  if (!result) return std::string(code_name(result.error().code)) + ": " + result.error().message;
  const std::string text = graph::to_text(result->graph);
  const std::size_t begin = text.find('\n') + 1, end = text.rfind("%", text.rfind("= output"));
  return text.substr(begin, end - begin);
}

/// The elements of weight number `i` of the imported model.
inline std::vector<float> weight_values(const OnnxModel& model, std::size_t i) {
  const auto result = from_onnx(model);
  EXPECT_TRUE(result.ok()) << result.error().message;
  const auto values = elements_of<float>(result->weights.at(i));
  return {values.begin(), values.end()};
}

}  // namespace lanista::formats::test
