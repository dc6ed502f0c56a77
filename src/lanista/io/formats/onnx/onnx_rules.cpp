#include "lanista/io/formats/onnx/onnx_rules.h"

#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

RewriteResult gemm(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"alpha", "beta", "transA", "transB"}));
  LANISTA_TRY(node_reader.require_value("transA", 0));
  LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", 1));
  LANISTA_ASSIGN(const double beta, node_reader.real("beta", 1));
  LANISTA_ASSIGN(const std::int64_t is_transposed, node_reader.integer("transB", 0));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* matrix, node_reader.weight(1));
  const Tensor* bias = nullptr;
  if (node_reader.has(2)) {
    LANISTA_ASSIGN(bias, node_reader.weight(2));
  }
  Rewrite rewrite = linear_rewrite(std::move(input), *matrix, is_transposed != 0, bias, alpha, beta);
  return Rewrite{rewrite.input_values, [emit = rewrite.emit](ModelWriter& w, Ports inputs) -> Result<Port> {
                   if (w.dims(inputs[0]).size() != 2) return malformed("its input 0 is no matrix");
                   return emit(w, inputs);
                 }};
}

RewriteResult matmul(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string a, node_reader.computed_input(0));
  if (node_reader.has(1) && node_reader.view().constant(node_reader.node().inputs[1]) != nullptr) {
    LANISTA_ASSIGN(const Tensor* matrix, node_reader.weight(1));
    return linear_rewrite(std::move(a), *matrix, false, nullptr);
  }
  LANISTA_ASSIGN(std::string b, node_reader.computed_input(1));
  return single_operator({std::move(a), std::move(b)}, "matmul");
}

}  // namespace

Rewrite single_operator(std::vector<std::string> input_values, std::string op, Attrs attrs,
                        std::vector<const Tensor*> params) {
  return Rewrite{std::move(input_values), [op = std::move(op), attrs = std::move(attrs), params = std::move(params)](
                                              ModelWriter& w, Ports inputs) {
                   std::vector<Tensor> copies;
                   for (const Tensor* param : params) copies.push_back(*param);
                   return w.add(op, {inputs.begin(), inputs.end()}, attrs, std::move(copies));
                 }};
}

RewriteRule same_operator(const std::string& op) {
  return [op](const NodeReader& node_reader) -> RewriteResult {
    LANISTA_TRY(node_reader.allow_attributes({}));
    LANISTA_ASSIGN(auto input_values, node_reader.computed_inputs());
    return single_operator(std::move(input_values), op);
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

List file_dims(const ModelWriter& writer, Port value) {
  List dims = writer.dims(value);
  if (!dims.empty() && dims.front() == graph::kBatch) {
    dims.front() = writer.batch() > 0 ? writer.batch() : kUnknownBatch;
  }
  return dims;
}

RewriteRules dense_rules() { return {{"Gemm", {gemm}}, {"MatMul", {adaptive_pool_group, matmul}}}; }

RewriteRules import_rules() {
  RewriteRules all;
  for (auto* part :
       {dense_rules, window_rules, resize_rules, norm_rules, shape_rules, arithmetic_rules, sequence_rules})
    all.merge(part());
  return all;
}

}  // namespace lanista::formats::onnx
