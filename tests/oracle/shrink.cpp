#include "shrink.h"

#include <set>
#include <utility>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::oracle {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Port;

// Returns the model without nodes on which the output does not depend.
Graph pruned(const Graph& model) {
  std::set<NodeId> needed;
  std::vector<NodeId> open = model.nodes_of("output");
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!model.contains(id) || !needed.insert(id).second) continue;
    for (const Port port : model.node(id).inputs) open.push_back(port.node);
  }
  graph::GraphBuilder builder(model);
  for (const NodeId id : model.ids()) {
    if (!needed.contains(id)) builder.remove(id);
  }
  return std::move(builder).take();
}

Graph with(const Graph& model, Node node) {
  graph::GraphBuilder builder(model);
  builder.put(std::move(node));
  return pruned(std::move(builder).take());
}

// Returns the model with `to` in place of each use of `from`.
Graph rewired(const Graph& model, NodeId from, Port to) {
  graph::GraphBuilder builder(model);
  for (const graph::Use use : model.consumers(from)) {
    Node user = builder.peek().node(use.node);
    user.inputs[use.slot] = to;
    builder.put(std::move(user));
  }
  return pruned(std::move(builder).take());
}

/// Returns the models that are one change smaller, those with the largest change first.
std::vector<Graph> smaller(const Graph& model) {
  std::vector<Graph> all;
  const Node output = model.node(model.nodes_of("output").front());
  for (const NodeId id : model.topo()) {
    if (id == output.id || Port{id} == output.inputs[0] || model.node(id).op == "input") continue;
    Node earlier = output;
    earlier.inputs[0] = Port{id};
    all.push_back(with(model, earlier));
  }
  const std::vector<NodeId> order = model.topo();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = model.node(*id);
    if (node.op == "input" || node.op == "output") continue;
    for (const Port input : node.inputs) all.push_back(rewired(model, node.id, input));
    for (std::size_t i = 0; node.inputs.size() > 1 && i < node.inputs.size(); ++i) {
      Node fewer = node;
      fewer.inputs.erase(fewer.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      all.push_back(with(model, fewer));
    }
    for (const auto& [name, value] : node.attrs) {
      Node plain = node;
      plain.attrs.erase(name);
      all.push_back(with(model, plain));
    }
  }
  return all;
}

}  // namespace

Case shrunk(Case c, const std::function<bool(const Case&)>& fails, int tries) {
  const graph::OpTable ops = graph::builtin_ops();
  for (bool found = true; found;) {
    found = false;
    for (Graph& model : smaller(c.model)) {
      if (!graph::verify(model, ops)) continue;
      if (tries-- <= 0) return c;
      Case next = c;
      next.model = std::move(model);
      const auto output = graph::infer_shapes(next.model, ops)->outputs(next.model.nodes_of("output").front());
      if (output.front().shape.rank() != 2 || output.front().shape.dims[1] < 2) next.loss = "mse";
      if (!fails(next)) continue;
      c = std::move(next);
      found = true;
      break;
    }
  }
  return c;
}

}  // namespace lanista::oracle
