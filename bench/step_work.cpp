#include "bench/step_work.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace lanista::bench {
namespace {

/// A product with a weight. Each element of the layer's result needs as many multiply-adds as the weight has elements
/// an output channel.
struct Product {
  std::string_view op;
  int result, weight;  ///< positions among the inputs of the operator; -1: its output
};
constexpr std::array<Product, 6> kProducts{{{"linear", -1, 1},
                                            {"linear_grad_x", 0, 1},
                                            {"linear_grad_w", 1, -1},
                                            {"conv2d", -1, 1},
                                            {"conv2d_grad_x", 0, 1},
                                            {"conv2d_grad_w", 1, -1}}};

double product_flops(const Product& product, const graph::Node& node, const graph::Types& types, std::int64_t batch) {
  const auto shape = [&](int position) -> const graph::Shape& {
    return types.at(position < 0 ? graph::Port{node.id, 0} : node.inputs[static_cast<std::size_t>(position)]).shape;
  };
  const graph::Shape& weight = shape(product.weight);
  const std::int64_t terms = weight.elements_per_sample() / weight.dims.front();
  return 2 * static_cast<double>(shape(product.result).elements(batch)) * static_cast<double>(terms);
}

double flops_of(const graph::Node& node, const autodiff::TrainingStep& step, const graph::OpTable& ops,
                std::int64_t batch) {
  const auto* product =
      std::find_if(kProducts.begin(), kProducts.end(), [&](const Product& p) { return p.op == node.op; });
  if (product != kProducts.end()) return product_flops(*product, node, step.types, batch);
  if (node.op != "matmul") return 0;
  const graph::OpDef& def = *ops.find(node.op);
  const auto inputs = step.types.inputs(node);
  return def.cost({inputs, node.attrs, def}).flops * static_cast<double>(batch);
}

}  // namespace

StepInput step_work(const autodiff::TrainingStep& step, const graph::OpTable& ops, std::int64_t batch) {
  const auto bytes = [&](graph::Port port) {
    return static_cast<double>(sizeof(float)) * static_cast<double>(step.types.at(port).shape.elements(batch));
  };
  StepInput work{.batch_bytes = bytes(step.input)};
  std::set<graph::Port> kept;
  for (const graph::NodeId id : step.compute) {
    const graph::Node& node = step.graph.node(id);
    work.flops += flops_of(node, step, ops, batch);
    const bool of_weight = node.op == "linear_grad_w" || node.op == "conv2d_grad_w";
    if (of_weight && node.inputs[0] != step.input) kept.insert(node.inputs[0]);
  }
  for (const graph::Port port : kept) work.kept_bytes += bytes(port);
  for (const auto& tensor : step.state) {
    if (tensor.trained) work.state_bytes += 2.0 * sizeof(float) * static_cast<double>(tensor.shape.elements(batch));
  }
  return work;
}

}  // namespace lanista::bench
