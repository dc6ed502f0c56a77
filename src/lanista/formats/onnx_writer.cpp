#include <utility>

#include "lanista/formats/onnx_rules.h"
#include "lanista/formats/onnx_tensor.h"

namespace lanista::formats::onnx {

Result<graph::Port> ModelWriter::add(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs,
                                     std::vector<Tensor> params) {
  const graph::NodeId id = builder_.add(op, std::move(inputs), std::move(attrs));
  const graph::Node& node = builder_.peek().node(id);
  LANISTA_TRY(graph::check_node(node, ops_));
  const graph::OpDef& def = *ops_.find(op);
  const auto in_types = types_.inputs(node);
  const graph::OpArgs args{in_types, node.attrs, def};
  LANISTA_ASSIGN(auto out_types, def.infer(args));
  types_.set(id, std::move(out_types));

  const auto specs = def.params ? def.params(args) : std::vector<graph::ParamSpec>();
  if (specs.size() != params.size()) {
    return broken("it has " + std::to_string(params.size()) + " weights, " + op + " wants " +
                  std::to_string(specs.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (params[i].shape != specs[i].shape.dims) {
      return broken("its constant " + shown(params[i].name) + " is " + graph::Shape{params[i].shape}.text() +
                    ", as the " + specs[i].name + " of " + op + " it must be " + specs[i].shape.text());
    }
    LANISTA_TRY(budget_.spend(params[i].bytes.size()));
    params[i].name = "n" + std::to_string(id.value) + "." + specs[i].name;
    std::string name = params[i].name;
    weights_.emplace(std::move(name), std::move(params[i]));
  }
  return graph::Port{id, 0};
}

Result<std::pair<graph::Graph, std::vector<Tensor>>> ModelWriter::finish() && {
  graph::Graph graph = std::move(builder_).take();
  LANISTA_TRY(graph::verify(graph, ops_));
  LANISTA_ASSIGN(const auto params, graph::parameters(graph, ops_));
  std::vector<Tensor> weights;
  weights.reserve(params.size());
  for (const graph::NamedParam& param : params) weights.push_back(std::move(weights_.at(param.name)));
  return std::pair(std::move(graph), std::move(weights));
}

}  // namespace lanista::formats::onnx
