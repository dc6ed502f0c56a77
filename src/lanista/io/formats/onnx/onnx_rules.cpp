#include "lanista/io/formats/onnx/onnx_rules.h"

#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

using graph::Attrs;
using graph::Port;
using Ports = std::span<const Port>;
using Planned = Result<Plan>;

Planned gemm(const Site& site) {
  LANISTA_TRY(site.only({"alpha", "beta", "transA", "transB"}));
  LANISTA_TRY(site.must_be("transA", 0));
  LANISTA_ASSIGN(const double alpha, site.real("alpha", 1));
  LANISTA_ASSIGN(const double beta, site.real("beta", 1));
  LANISTA_ASSIGN(const std::int64_t turned, site.integer("transB", 0));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const Tensor* matrix, site.weight(1));
  const Tensor* bias = nullptr;
  if (site.has(2)) {
    LANISTA_ASSIGN(bias, site.weight(2));
  }
  Plan plan = linear_plan(std::move(input), *matrix, turned != 0, bias, alpha, beta);
  return Plan{plan.reads, [write = plan.write](ModelWriter& w, Ports inputs) -> Result<Port> {
                if (w.dims(inputs[0]).size() != 2) return broken("its input 0 is no matrix");
                return write(w, inputs);
              }};
}

Planned matmul(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string a, site.data(0));
  if (site.has(1) && site.view().constant(site.node().inputs[1]) != nullptr) {
    LANISTA_ASSIGN(const Tensor* matrix, site.weight(1));
    return linear_plan(std::move(a), *matrix, false, nullptr);
  }
  LANISTA_ASSIGN(std::string b, site.data(1));
  return direct({std::move(a), std::move(b)}, "matmul");
}

}  // namespace

Plan direct(std::vector<std::string> reads, std::string op, Attrs attrs, std::vector<const Tensor*> params) {
  return Plan{std::move(reads),
              [op = std::move(op), attrs = std::move(attrs), params = std::move(params)](ModelWriter& w, Ports inputs) {
                std::vector<Tensor> copies;
                for (const Tensor* param : params) copies.push_back(*param);
                return w.add(op, {inputs.begin(), inputs.end()}, attrs, std::move(copies));
              }};
}

Rule plain(const std::string& op) {
  return [op](const Site& site) -> Planned {
    LANISTA_TRY(site.only({}));
    LANISTA_ASSIGN(auto reads, site.all_data());
    return direct(std::move(reads), op);
  };
}

Tensor times(Tensor tensor, double factor) {
  if (factor == 1) return tensor;
  for (float& number : elements_of<float>(tensor)) number = static_cast<float>(static_cast<double>(number) * factor);
  return tensor;
}

Result<Port> in_shape(ModelWriter& writer, Port value, const List& rest) {
  // Shapes on the way make no difference.
  const auto shaped = [&] { return List(writer.dims(value).begin() + 1, writer.dims(value).end()); };
  while (shaped() != rest && (writer.node(value).op == "reshape" || writer.node(value).op == "flatten")) {
    value = writer.node(value).inputs.front();
  }
  if (shaped() == rest) return value;
  const graph::Node& node = writer.node(value);
  if (node.op == "adaptive_avg_pool2d" && rest.size() == 1 && rest.front() == writer.dims(value)[1]) {
    return writer.add("global_avg_pool", {node.inputs.front()});
  }
  // Written as flatten it follows mutations of what comes before.
  if (rest.size() == 1) return writer.add("flatten", {value});
  return writer.add("reshape", {value}, {{"shape", rest}});
}

List seen_dims(const ModelWriter& writer, Port value) {
  List dims = writer.dims(value);
  if (!dims.empty() && dims.front() == graph::kBatch) {
    dims.front() = writer.batch() > 0 ? writer.batch() : kBatchNumber;
  }
  return dims;
}

Rules dense_rules() { return {{"Gemm", {gemm}}, {"MatMul", {adaptive_pool_group, matmul}}}; }

Rules import_rules() {
  Rules all;
  for (auto* part :
       {dense_rules, window_rules, resize_rules, norm_rules, shape_rules, arithmetic_rules, sequence_rules})
    all.merge(part());
  return all;
}

}  // namespace lanista::formats::onnx
