#include "lanista/io/formats/float_weights.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lanista/model/graph/infer.h"

namespace lanista::formats {
namespace {

Error invalid(std::string message) { return {Code::kInvalidArgument, std::move(message), ""}; }

Result<Tensor> as_float(const Tensor& weight, const graph::ParamSpec& spec) {
  const std::string name = "weight '" + weight.name + "'";
  if (weight.shape != spec.shape.dims) {
    return invalid(name + " is " + graph::Shape{weight.shape}.text() + ", the model needs " + spec.shape.text());
  }
  if (weight.type == ElementType::kF32) return weight;
  if (weight.type != ElementType::kF64) return invalid(name + " holds no real numbers");
  Tensor out{weight.name, ElementType::kF32, weight.shape, std::vector<std::byte>(weight.bytes.size() / 2)};
  const auto to = elements_of<float>(out);
  const auto from = elements_of<double>(weight);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]);
  return out;
}

}  // namespace

Result<std::vector<Tensor>> float_weights(const graph::Graph& graph, const graph::OpTable& ops,
                                          std::span<const Tensor> given) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : given) by_name.emplace(tensor.name, &tensor);
  LANISTA_ASSIGN(const auto params, graph::parameters(graph, ops));
  std::vector<Tensor> weights;
  for (const graph::NamedParam& param : params) {
    const auto found = by_name.find(param.name);
    if (found == by_name.end()) return invalid("weight '" + param.name + "' is missing");
    LANISTA_ASSIGN(Tensor weight, as_float(*found->second, param.spec));
    weights.push_back(std::move(weight));
  }
  return weights;
}

}  // namespace lanista::formats
