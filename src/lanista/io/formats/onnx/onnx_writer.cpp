#include <map>
#include <set>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

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
    return malformed("it has " + std::to_string(params.size()) + " weights, " + op + " needs " +
                     std::to_string(specs.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (params[i].shape != specs[i].shape.dims) {
      return malformed("its constant " + in_quotes(params[i].name) + " is " + graph::Shape{params[i].shape}.text() +
                       ", as the " + specs[i].name + " of " + op + " it must be " + specs[i].shape.text());
    }
    LANISTA_TRY(budget_.spend(params[i].bytes.size()));
    weights_.emplace(std::pair(id, specs[i].name), std::move(params[i]));
  }
  return graph::Port{id, 0};
}

Result<void> ModelWriter::check_budget(const List& shape) const {
  ByteBudget rest = budget_;
  return rest.spend(static_cast<std::size_t>(product(shape)) * sizeof(float));
}

namespace {

/// A graph with new ids, and the ids that its nodes had before.
struct Renamed {
  graph::Graph graph;
  std::map<graph::NodeId, graph::NodeId> before;
};

/// Removes nodes that the output does not need: rules replace nodes that were written before.
Renamed pruned(const graph::Graph& graph) {
  std::set<graph::NodeId> needed;
  std::vector<graph::NodeId> open = graph.nodes_of("output");
  for (const graph::NodeId id : graph.nodes_of("input")) open.push_back(id);
  while (!open.empty()) {
    const graph::NodeId id = open.back();
    open.pop_back();
    if (!needed.insert(id).second) continue;
    for (const graph::Port& port : graph.node(id).inputs) open.push_back(port.node);
  }
  Renamed result;
  graph::GraphBuilder builder;
  std::map<graph::NodeId, graph::NodeId> now;
  for (const auto& node : graph.nodes()) {
    if (!needed.contains(node->id)) continue;
    std::vector<graph::Port> inputs = node->inputs;
    for (graph::Port& port : inputs) port.node = now.at(port.node);
    now[node->id] = builder.add(node->op, std::move(inputs), node->attrs);
    result.before[now[node->id]] = node->id;
  }
  result.graph = std::move(builder).take();
  return result;
}

}  // namespace

Result<std::pair<graph::Graph, std::vector<Tensor>>> ModelWriter::finish() && {
  Renamed renamed = pruned(std::move(builder_).take());
  LANISTA_TRY(graph::verify(renamed.graph, ops_));
  LANISTA_ASSIGN(const auto params, graph::parameters(renamed.graph, ops_));
  std::vector<Tensor> weights;
  weights.reserve(params.size());
  for (const graph::NamedParam& param : params) {
    weights.push_back(std::move(weights_.at({renamed.before.at(param.node), param.spec.name})));
    weights.back().name = param.name;
  }
  return std::pair(std::move(renamed.graph), std::move(weights));
}

}  // namespace lanista::formats::onnx
