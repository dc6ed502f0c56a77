#include "lanista/model/graph/model_cut.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::graph {
namespace {

std::string node_name(const Node& node) { return port_text({node.id, 0}) + " " + node.op; }

// The nodes of a model in dependency order, with the data for the cut.
struct NodeOrder {
  struct CutPoint {
    const Node* node = nullptr;
    bool frozen = false;                     // listed, and has state or random masks
    bool trained = false;                    // has state or random masks, and is not listed
    std::optional<std::size_t> behind = {};  // a trained node before it, or itself
    std::size_t last_use = 0;                // index of the last node that reads it
    std::optional<std::uint32_t> slot = {};  // output that is read
    bool several = false;                    // several outputs are read
  };
  std::vector<CutPoint> places;
  std::vector<std::size_t> number;  // number of each node, by index in graph.nodes()

  bool is_cut_allowed(std::size_t i) const { return !places[i].behind.has_value(); }
};

NodeOrder order_of(const Graph& model, const std::set<NodeId>& frozen, const std::set<NodeId>& with_state,
                   const OpTable& ops) {
  NodeOrder order{.places = {}, .number = std::vector<std::size_t>(model.size())};
  for (const std::size_t place : model.dependency_order()) {
    const Node& node = *model.nodes()[place];
    const std::size_t i = order.places.size();
    const bool matters = with_state.contains(node.id) || ops.find(node.op)->random;
    const bool listed = frozen.contains(node.id);
    NodeOrder::CutPoint here{.node = &node, .frozen = matters && listed, .trained = matters && !listed};
    for (const Port& port : node.inputs) {
      NodeOrder::CutPoint& source = order.places[order.number[model.index_of(port.node)]];
      source.last_use = i;
      source.several = source.several || source.slot.value_or(port.slot) != port.slot;
      source.slot = port.slot;
      if (!here.behind) here.behind = source.behind;
    }
    if (here.trained && !here.behind) here.behind = i;
    order.number[place] = i;
    order.places.push_back(here);
  }
  return order;
}

// Returns the last node with a real value on which all later nodes depend, with no trained node before it. A value is
// on every path from input to output if no edge leads past it.
std::optional<std::pair<std::size_t, Port>> last_cut(const NodeOrder& order, const Types& types) {
  std::optional<std::pair<std::size_t, Port>> found;
  std::size_t reach = 0;
  for (std::size_t i = 0; i + 1 < order.places.size() && order.is_cut_allowed(i); ++i) {
    const NodeOrder::CutPoint& place = order.places[i];
    if (reach <= i && !place.several) {
      const Port port{place.node->id, *place.slot};
      const ValueType& type = types.at(port);
      if (type.dtype == DType::kReal && type.shape.has_batch() && type.shape.rank() > 1) found = {i, port};
    }
    reach = std::max(reach, place.last_use);
  }
  return found;
}

// Why the frozen node at `at` cannot be in a prefix.
Error cannot_cut(const Graph& model, const NodeOrder& order, std::size_t at) {
  const NodeOrder::CutPoint& place = order.places[at];
  if (place.behind) {
    return {Code::kUnimplemented,
            node_name(*place.node) + " is frozen, but follows " + node_name(*order.places[*place.behind].node) +
                ", which is not; frozen nodes must precede all trained nodes",
            ""};
  }
  std::set<std::size_t> crossing;
  for (const NodeOrder::CutPoint& to : order.places) {
    for (const Port& port : to.node->inputs) {
      const std::size_t from = order.number[model.index_of(port.node)];
      if (to.behind && order.is_cut_allowed(from)) crossing.insert(from);
    }
  }
  std::string values;
  for (const std::size_t from : crossing) values += (values.empty() ? "" : ", ") + node_name(*order.places[from].node);
  return {Code::kUnimplemented,
          "after frozen " + node_name(*place.node) + " the trained nodes read several values (" + values +
              "); a frozen part must give one value of real numbers",
          ""};
}

Graph prefix_of(const NodeOrder& order, std::size_t last, Port value) {
  GraphBuilder builder;
  for (std::size_t i = 0; i <= last; ++i) builder.put(*order.places[i].node);
  builder.add("output", {value});
  return std::move(builder).take();
}

Graph head_of(const Graph& model, const NodeOrder& order, std::size_t last, Port value, const Shape& shape) {
  GraphBuilder builder;
  builder.put({value.node, "input", {{"shape", ops::without_batch(shape)}}, {}, {}});
  for (std::size_t i = last + 1; i < order.places.size(); ++i) {
    Node node = *order.places[i].node;
    std::replace(node.inputs.begin(), node.inputs.end(), value, Port{value.node, 0});
    builder.put(std::move(node));
  }
  builder.reserve_ids(model.next_id());
  return std::move(builder).take();
}

}  // namespace

Result<Cut> cut_behind_frozen(const Graph& model, const std::set<NodeId>& frozen, const OpTable& ops) {
  LANISTA_TRY(verify(model, ops));
  for (const NodeId id : frozen) {
    if (!model.contains(id)) return Error{Code::kNotFound, "frozen node " + port_text({id, 0}) + " does not exist", ""};
  }
  LANISTA_ASSIGN(const Types types, infer_shapes(model, ops));
  LANISTA_ASSIGN(const std::vector<NamedParam> params, parameters(model, ops));
  std::set<NodeId> with_state;
  bool trains = false;
  for (const NamedParam& param : params) {
    with_state.insert(param.node);
    trains = trains || (param.spec.trained && !frozen.contains(param.node));
  }
  if (!trains) return Error{Code::kInvalidArgument, "every parameter of the model is frozen: nothing to train", ""};

  const NodeOrder order = order_of(model, frozen, with_state, ops);
  const auto cut = last_cut(order, types);
  for (std::size_t i = cut ? cut->first + 1 : 0; i < order.places.size(); ++i) {
    if (order.places[i].frozen) return cannot_cut(model, order, i);
  }
  if (!cut || cut->first == 0) {
    return Error{Code::kNotApplicable, "only the input precedes the trained nodes", ""};
  }
  const auto& [last, value] = *cut;
  const ValueType& type = types.at(value);
  return Cut{prefix_of(order, last, value), head_of(model, order, last, value, type.shape), type};
}

}  // namespace lanista::graph
