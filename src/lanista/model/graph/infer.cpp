#include "lanista/model/graph/infer.h"

#include <algorithm>
#include <span>

#include "lanista/base/check.h"
#include "lanista/model/graph/lower_bound_by_id.h"
#include "lanista/model/graph/size_limits.h"
#include "lanista/model/graph/text.h"

namespace lanista::graph {
namespace {

std::string name_of(const Node& node) { return port_text({node.id, 0}) + " " + node.op; }

Error refuse(const Node& node, const std::string& why) {
  return Error{Code::kInvalidArgument, name_of(node) + ": " + why, ""};
}

std::string list_text(std::span<const ValueType> types) {
  std::string out;
  for (const ValueType& type : types) out += (out.empty() ? "" : ", ") + type.shape.text();
  return out;
}

/// Puts the node and the shapes of its inputs before the message of a rule.
Error rule_error(const Node& node, std::span<const ValueType> inputs, Error error) {
  error.message = name_of(node) + "(" + list_text(inputs) + "): " + error.message;
  return error;
}

Result<void> check_outputs(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs) {
  for (const ValueType& type : outputs) {
    const auto& dims = type.shape.dims;
    const auto first = dims.begin() + (type.shape.has_batch() ? 1 : 0);
    if (std::any_of(first, dims.end(), [](std::int64_t d) { return d < 1; })) {
      return rule_error(node, inputs,
                        {Code::kInvalidArgument,
                         "gives the shape " + type.shape.text() + "; every dimension must be at least 1", ""});
    }
    if (type.shape.elements_per_sample() > kMaxElements) {
      return rule_error(
          node, inputs,
          {Code::kInvalidArgument, "gives the shape " + type.shape.text() + ", more than 2^31 elements a sample", ""});
    }
  }
  return {};
}

/// Checks the inputs of a step node after its data inputs against the parameters of its operator.
Result<void> check_param_inputs(const Node& node, const OpArgs& args, std::span<const ValueType> given) {
  if (given.empty()) return {};
  const std::vector<ParamSpec> params = args.def.params(args);
  if (params.size() != given.size()) {
    return refuse(node, "has " + std::to_string(given.size()) + " inputs after its data inputs, needs its " +
                            std::to_string(params.size()) + " parameters");
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].shape == given[i].shape) continue;
    return refuse(node, "parameter " + params[i].name + " has shape " + given[i].shape.text() + ", needs " +
                            params[i].shape.text());
  }
  return {};
}

Result<std::vector<ValueType>> input_types(const Graph& graph, const Node& node, const Types& types) {
  std::vector<ValueType> inputs;
  inputs.reserve(node.inputs.size());
  for (const Port& port : node.inputs) {
    const auto& outputs = types.outputs(port.node);
    if (port.slot >= outputs.size()) {
      return refuse(node, "reads " + port_text(port) + ", but " + name_of(graph.node(port.node)) + " has " +
                              std::to_string(outputs.size()) + (outputs.size() == 1 ? " output" : " outputs"));
    }
    inputs.push_back(outputs[port.slot]);
  }
  return inputs;
}

Result<void> infer_node(const Graph& graph, const Node& node, const OpDef& def, Types& types) {
  LANISTA_ASSIGN(const std::vector<ValueType> inputs, input_types(graph, node, types));
  const std::size_t num_data = num_data_inputs(node, def);
  const auto data = std::span(inputs).first(num_data);
  const OpArgs args{data, node.attrs, def};

  auto outputs = def.infer(args);
  if (!outputs) return rule_error(node, data, std::move(outputs).error());
  LANISTA_TRY(check_outputs(node, data, *outputs));
  LANISTA_TRY(check_param_inputs(node, args, std::span(inputs).subspan(num_data)));
  types.set(node.id, *std::move(outputs));
  return {};
}

/// A graph with the definitions of its operators and the dependency order.
struct InferenceWalk {
  const Graph& graph;
  std::vector<const OpDef*> defs;  ///< by index in graph.nodes()
  std::vector<std::size_t> order;  ///< indices in graph.nodes()

  const Node& node(std::size_t place) const { return *graph.nodes()[place]; }
};

Error cycle_error(const InferenceWalk& walk) {
  std::vector<bool> on_cycle(walk.graph.size(), true);
  for (const std::size_t place : walk.order) on_cycle[place] = false;
  // A walk upstream among the remaining nodes never ends, so the first node that it visits twice is on a cycle.
  auto at = static_cast<std::size_t>(std::find(on_cycle.begin(), on_cycle.end(), true) - on_cycle.begin());
  for (std::size_t steps = 0; steps < walk.graph.size(); ++steps) {
    const auto& inputs = walk.node(at).inputs;
    at = walk.graph.index_of(std::find_if(inputs.begin(), inputs.end(), [&](Port p) {
                               return on_cycle[walk.graph.index_of(p.node)];
                             })->node);
  }
  return refuse(walk.node(at), "depends on its own result");
}

/// Checks operators, attributes, input counts, existence of inputs, and cycles.
Result<InferenceWalk> walk_of(const Graph& graph, const OpTable& ops) {
  InferenceWalk walk{graph, {}, {}};
  walk.defs.reserve(graph.size());
  for (const auto& node : graph.nodes()) {
    walk.defs.push_back(ops.find(node->op));
    LANISTA_TRY(check_node(*node, walk.defs.back(), ops));
    for (const Port& port : node->inputs) {
      if (graph.contains(port.node)) continue;
      return refuse(*node, "reads " + port_text(port) + ", but there is no such node");
    }
  }
  walk.order = graph.dependency_order();
  if (walk.order.size() != graph.size()) return cycle_error(walk);
  return walk;
}

Result<Types> infer_in_order(const InferenceWalk& walk) {
  Types types(walk.graph);
  for (const std::size_t place : walk.order) {
    LANISTA_TRY(infer_node(walk.graph, walk.node(place), *walk.defs[place], types));
  }
  return types;
}

Result<void> check_model_nodes(const InferenceWalk& walk) {
  if (walk.graph.size() > kMaxTextNodes) {
    return Error{Code::kInvalidArgument, "has " + std::to_string(walk.graph.size()) + " nodes, a model at most 100000",
                 ""};
  }
  for (std::size_t place = 0; place < walk.graph.size(); ++place) {
    const Node& node = walk.node(place);
    const OpDef& def = *walk.defs[place];
    // A verified model has a text form, so its limits are checked here too.
    if (node.inputs.size() > kMaxTextInputs) return refuse(node, "has more than 64 inputs");
    if (node.label.size() > kMaxStringLength) return refuse(node, "has a label of more than 4096 bytes");
    if (def.level != OpLevel::kModel)
      return refuse(node, "is an operator of training steps, which a model must not have");
    if (num_data_inputs(node, def) != node.inputs.size()) {
      return refuse(node,
                    "has " + std::to_string(node.inputs.size()) + " inputs, needs " + std::to_string(def.min_inputs));
    }
  }
  return {};
}

Result<NodeId> only_node_of(const Graph& graph, const std::string& op) {
  const auto found = graph.nodes_of(op);
  if (found.size() == 1) return found.front();
  std::string message = "a model has exactly one " + op + ", this one has " + std::to_string(found.size());
  for (std::size_t i = 0; i < found.size() && i < 8; ++i) message += (i == 0 ? ": " : ", ") + port_text({found[i], 0});
  return Error{Code::kInvalidArgument, message, ""};
}

Result<void> check_paths(const InferenceWalk& walk) {
  const Graph& graph = walk.graph;
  LANISTA_ASSIGN(const NodeId input, only_node_of(graph, "input"));
  LANISTA_ASSIGN(const NodeId output, only_node_of(graph, "output"));

  std::vector<bool> from_input(graph.size());
  for (const std::size_t place : walk.order) {
    const Node& node = walk.node(place);
    from_input[place] = node.id == input || std::any_of(node.inputs.begin(), node.inputs.end(),
                                                        [&](Port p) { return from_input[graph.index_of(p.node)]; });
  }
  std::vector<bool> to_output(graph.size());
  to_output[graph.index_of(output)] = true;
  for (auto at = walk.order.rbegin(); at != walk.order.rend(); ++at) {
    if (!to_output[*at]) continue;
    for (const Port& port : walk.node(*at).inputs) to_output[graph.index_of(port.node)] = true;
  }
  for (std::size_t place = 0; place < graph.size(); ++place) {
    if (!from_input[place]) return refuse(walk.node(place), "does not depend on the input");
    if (!to_output[place]) return refuse(walk.node(place), "is dead: its result does not reach the output");
  }
  return {};
}

}  // namespace

const ValueType& Types::at(Port port) const {
  const auto& all = outputs(port.node);
  LANISTA_CHECK(port.slot < all.size(), "no type for " + port_text(port));
  return all[port.slot];
}

Types::Types(const Graph& graph) {
  entries_.reserve(graph.size());
  for (const auto& node : graph.nodes()) entries_.push_back({node->id, {}});
}

const std::vector<ValueType>& Types::outputs(NodeId id) const {
  const std::size_t at = lower_bound_by_id(entries_, id, [](const Entry& e) { return e.id; });
  LANISTA_CHECK(at < entries_.size() && entries_[at].id == id, "no types for node " + port_text({id, 0}));
  return entries_[at].outputs;
}

std::vector<ValueType> Types::inputs(const Node& node) const {
  std::vector<ValueType> out;
  out.reserve(node.inputs.size());
  for (const Port& port : node.inputs) out.push_back(at(port));
  return out;
}

void Types::set(NodeId id, std::vector<ValueType> types) {
  const std::size_t at = lower_bound_by_id(entries_, id, [](const Entry& e) { return e.id; });
  if (at == entries_.size() || entries_[at].id != id) {
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(at), {id, {}});
  }
  entries_[at].outputs = std::move(types);
}

Result<Types> infer_shapes(const Graph& graph, const OpTable& ops) {
  LANISTA_ASSIGN(const InferenceWalk walk, walk_of(graph, ops));
  return infer_in_order(walk);
}

Result<void> verify(const Graph& graph, const OpTable& ops) {
  LANISTA_ASSIGN(const InferenceWalk walk, walk_of(graph, ops));
  LANISTA_TRY(check_model_nodes(walk));
  LANISTA_TRY(check_paths(walk));
  LANISTA_TRY(infer_in_order(walk));
  return {};
}

}  // namespace lanista::graph
