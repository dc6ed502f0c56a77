#include "lanista/io/formats/onnx/onnx_rules.h"

#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
Rewrite single_operator(std::vector<std::string> input_values, std::string op, Attrs attrs,
                        std::vector<const Tensor*> params) {
  return Rewrite{std::move(input_values), [op = std::move(op), attrs = std::move(attrs), params = std::move(params)](
                                              ModelWriter& w, Ports inputs) {
                   std::vector<Tensor> copies;
                   for (const Tensor* param : params) copies.push_back(*param);
                   return w.add(op, {inputs.begin(), inputs.end()}, attrs, std::move(copies));
                 }};
}

Rewrite elementwise(Rewrite rewrite) {
  rewrite.elementwise = true;
  return rewrite;
}

RewriteRule same_operator(const std::string& op) {
  return [op](const NodeReader& node_reader) -> RewriteResult {
    LANISTA_TRY(node_reader.allow_attributes({}));
    LANISTA_ASSIGN(auto input_values, node_reader.computed_inputs());
    return elementwise(single_operator(std::move(input_values), op));
  };
}

Tensor times(Tensor tensor, double factor) {
  if (factor == 1) return tensor;
  for (float& number : elements_of<float>(tensor)) number = static_cast<float>(static_cast<double>(number) * factor);
  return tensor;
}

Result<Port> in_shape(ModelWriter& writer, Port value, const List& rest) {
  // Intermediate shapes make no difference.
  const auto shaped = [&] { return List(writer.dims(value).begin() + 1, writer.dims(value).end()); };
  while (shaped() != rest && (writer.node(value).op == "reshape" || writer.node(value).op == "flatten")) {
    value = writer.node(value).inputs.front();
  }
  if (shaped() == rest) return value;
  const graph::Node& node = writer.node(value);
  if (node.op == "adaptive_avg_pool2d" && rest.size() == 1 && rest.front() == writer.dims(value)[1]) {
    return writer.add("global_avg_pool", {node.inputs.front()});
  }
  // As flatten it follows mutations of preceding nodes.
  if (rest.size() == 1) return writer.add("flatten", {value});
  return writer.add("reshape", {value}, {{"shape", rest}});
}

RewriteRules import_rules() {
  RewriteRules all;
  for (auto* part : {dense_rules, window_rules, pad_rules, resize_rules, norm_rules, shape_rules, join_rules,
                     arithmetic_rules, activation_rules, reduce_rules, sequence_rules})
    all.merge(part());
  return all;
}

}  // namespace lanista::formats::onnx
